import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** The parts of a Babel syntax node that are looked at here. */
interface Node {
  type: string;
  key?: { name?: string };
  properties?: Node[];
  id?: { name?: string };
  init?: { type: string; value?: unknown } | null;
  expression?: { type: string; callee?: { name?: string } };
}

/** A call, as a parent of what is looked at. */
interface Call {
  callee?: { name?: string };
  arguments?: Node[];
}

const WORDS = "Words that describe a chart: no behaviour depends on them.";
const TYPES = "The types of a chart, which do not exist when it runs.";
const NARROWING = "It tells the compiler which event has come; at run time it only says so where a chart is wrong.";

const isSentence = ({ init }: Node): boolean =>
  init?.type === "StringLiteral" && typeof init.value === "string" && /\s.*\.$/.test(init.value);

const isDescription = ({ type, key }: Node): boolean => type === "ObjectProperty" && key?.name === "description";

/** A phrase that a guard is given by `when`: for where it holds, or for where it does not. */
const isPhrase = (node: Node, { callee, arguments: given }: Call): boolean =>
  callee?.name === "when" && (given?.[0] === node || given?.[2] === node);

/** Leaves out what does nothing: the types of a chart, `assertEvent`, phrases, and descriptions, also those that a constant holds. */
export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "what-does-nothing", {
    shouldIgnore: (path) => {
      const { node, parent } = path as { node: Node; parent?: Call };
      if (parent && isPhrase(node, parent)) return WORDS;
      if (isDescription(node) || (node.properties?.length && node.properties.every(isDescription))) return WORDS;
      if (node.type === "ObjectProperty" && node.key?.name === "types") return TYPES;
      if (node.type === "ExpressionStatement" && node.expression?.callee?.name === "assertEvent") return NARROWING;
      return node.type === "VariableDeclarator" &&
        (isSentence(node) || /(Descriptions|Words)$/.test(node.id?.name ?? ""))
        ? WORDS
        : undefined;
    },
  }),
];
