import { z } from "zod";
import { FleetServerSchema } from "../../launch-schema.ts";
import { readAs, WIRE_VERSION } from "./wire-messages.ts";

/*
 * What servers of a fleet ask each other. Nothing of it is stored: an unreachable server does not answer. What cannot be read, of
 * another version or of none, is left unanswered, and counts as no answer.
 */

/** The address of all workers. No server has such an id. */
export const EVERYBODY = "everybody";

const Versioned = z.object({ v: z.literal(WIRE_VERSION) });

/** A question to a server. */
export const Question = z.discriminatedUnion("type", [
  /** Who are you, and what do you work on? */
  Versioned.extend({ type: z.literal("present") }),
  /** Could you go on with the conversation of a task that you have worked on? */
  Versioned.extend({
    type: z.literal("mayResume"),
    pool: z.string(),
    origin: z.string(),
    task: z.string(),
    /** True where its last run was not brought to its end; absent where it was answered. */
    isRetry: z.literal(true).optional(),
  }),
  /** What was said in the task that you work or worked on for that task of that origin server? */
  Versioned.extend({
    type: z.literal("conversation"),
    origin: z.string(),
    task: z.string(),
    options: z.object({
      /** Only messages after this one. */
      sinceMessageId: z.string().optional(),
      messageLimit: z.int().positive(),
      includeToolResults: z.boolean(),
    }),
  }),
  /** The same, as OpenCode returns it. */
  Versioned.extend({ type: z.literal("messages"), origin: z.string(), task: z.string() }),
]);
export type Question = z.infer<typeof Question>;

const Present = Versioned.extend({
  type: z.literal("present"),
  server: FleetServerSchema,
  /** The pool whose jobs the process takes: a server answers once for each project that is open in it. */
  pool: z.string(),
  /** The project as the server knows it. */
  project: z.string(),
  /** How many runs of others it works on at once, for this project. */
  slots: z.int().nonnegative(),
  /** How many runs of others it works on now. */
  atWork: z.int().nonnegative(),
  /** Of the plugin. */
  version: z.string(),
});

const MayResume = Versioned.extend({
  type: z.literal("mayResume"),
  /** Why it could not, in words that follow the server's name; absent where it could. */
  obstacle: z.string().optional(),
});

const SpokenMessage = z.object({
  id: z.string().max(200),
  role: z.enum(["user", "assistant"]),
  parts: z.array(
    z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("text"), text: z.string() }),
      z.object({
        kind: z.literal("tool"),
        name: z.string(),
        params: z.unknown(),
        result: z.string().optional(),
      }),
    ]),
  ),
});

const Conversation = Versioned.extend({
  type: z.literal("conversation"),
  /** Absent where the conversation lacks the message that it is to begin after. */
  passage: z.object({ messages: z.array(SpokenMessage), left: z.int().nonnegative() }).optional(),
});

const Messages = Versioned.extend({ type: z.literal("messages"), messages: z.array(z.unknown()) });

/** An answer. Its type is that of the question. */
export const Answer = z.discriminatedUnion("type", [Present, MayResume, Conversation, Messages]);
export type Answer = z.infer<typeof Answer>;

/** A question of that type, and its answer. */
export type QuestionOf<Type extends Question["type"]> = Extract<Question, { type: Type }>;
export type AnswerOf<Type extends Answer["type"]> = Extract<Answer, { type: Type }>;

/** The answer to a question. */
export type AnswerTo<Asked extends Question> = Extract<Answer, { type: Asked["type"] }>;

/** What a worker answers that is present, for one of the projects that are open in it. */
export type Presence = AnswerOf<"present">;

/** Reads a question; undefined for anything else. */
export const readQuestion = (text: string): Question | undefined => readAs(Question, text);

/** Reads an answer to a question; undefined for anything else. */
export const readAnswer = <Asked extends Question>(text: string, { type }: Asked): AnswerTo<Asked> | undefined => {
  const answer = readAs(Answer, text);
  return answer?.type === type ? (answer as AnswerTo<Asked>) : undefined;
};
