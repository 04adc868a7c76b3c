import type { OpenUserRequest, UserQuestion, UserReply } from "../../user-request.ts";

/** Something to choose while a request is answered. */
export interface Choice {
  title: string;
  description?: string;
  value: ChoiceValue;
}

/** What a choice means; `own` has the person write something. */
export type ChoiceValue =
  | { kind: "reply"; reply: "once" | "always" | "reject" }
  | { kind: "rejectWithMessage" }
  | { kind: "option"; option: string }
  | { kind: "own" }
  | { kind: "done" };

/** What is asked next: a choice, or a text. */
export interface AnswerStep {
  title: string;
  choices: Choice[];
}

/** How far a request has been answered: the choices for each question, in order; the last may go on. */
export type Answers = readonly (readonly string[])[];

const permissionStep = ({ what, always = [] }: OpenUserRequest): AnswerStep => ({
  title: `Permission: ${what}`,
  choices: [
    { title: "Allow once", value: { kind: "reply", reply: "once" } },
    ...(always.length > 0
      ? [
          {
            title: "Allow always",
            description: always.join(", "),
            value: { kind: "reply" as const, reply: "always" as const },
          },
        ]
      : []),
    { title: "Reject", value: { kind: "reply", reply: "reject" } },
    { title: "Reject, and say why …", value: { kind: "rejectWithMessage" } },
  ],
});

/** The place of a question among those of its request, such as `2 of 3: `; nothing where it is the only one. */
const placeOf = (index: number, count: number): string => (count === 1 ? "" : `${index + 1} of ${count}: `);

const questionStep = (
  { question, options, multiple, custom }: UserQuestion,
  chosen: readonly string[],
  place: string,
): AnswerStep => ({
  title: `${place}${question}`,
  choices: [
    ...options.map((option): Choice => {
      const mark = multiple ? (chosen.includes(option) ? "[x] " : "[ ] ") : "";
      return { title: `${mark}${option}`, value: { kind: "option", option } };
    }),
    ...(custom ? [{ title: "Something else …", value: { kind: "own" as const } }] : []),
    ...(multiple && chosen.length > 0 ? [{ title: "That is all", value: { kind: "done" as const } }] : []),
    { title: "Reject the question", value: { kind: "reply", reply: "reject" } },
  ],
});

/** Returns what is to be chosen next to answer a request; undefined once all questions are answered. */
export const nextStep = (request: OpenUserRequest, answers: Answers): AnswerStep | undefined => {
  if (request.kind === "permission") return permissionStep(request);
  const questions = request.questions ?? [];
  const open = Math.max(0, answers.length - 1);
  const question = questions[open];
  return question && questionStep(question, answers[open] ?? [], placeOf(open, questions.length));
};

/** What a choice leads to: a reply that is complete, a text that the person has to write, or the next step. */
export type AnswerProgress = { reply: UserReply } | { write: "message" | "answer" } | { answers: Answers };

/** Goes on to the next question, or completes the reply after the last one. */
const answered = (request: OpenUserRequest, answers: Answers): AnswerProgress => {
  if (answers.length < (request.questions?.length ?? 0)) return { answers: [...answers, []] };
  return { reply: { requestId: request.id, answers: answers.map((chosen) => [...chosen]) } };
};

/** Returns the answers with those to the question that is open replaced. */
const withLast = (answers: Answers, chosen: readonly string[]): Answers => [...answers.slice(0, -1), chosen];

/** Returns what follows from a choice. `answers` is `[[]]` at first. */
export const afterChoice = (request: OpenUserRequest, answers: Answers, value: ChoiceValue): AnswerProgress => {
  const begun = answers.length === 0 ? [[]] : answers;
  const chosen = begun.at(-1) ?? [];
  const question = request.questions?.[begun.length - 1];
  switch (value.kind) {
    case "reply":
      return { reply: { requestId: request.id, reply: value.reply } };
    case "rejectWithMessage":
      return { write: "message" };
    case "own":
      return { write: "answer" };
    case "done":
      return answered(request, begun);
    case "option": {
      const { option } = value;
      if (!question?.multiple) return answered(request, withLast(begun, [option]));
      const isChosen = chosen.includes(option);
      return { answers: withLast(begun, isChosen ? chosen.filter((other) => other !== option) : [...chosen, option]) };
    }
  }
};

/** Returns what follows from a text that the person has written. */
export const afterText = (
  request: OpenUserRequest,
  answers: Answers,
  what: "message" | "answer",
  text: string,
): AnswerProgress => {
  if (what === "message") return { reply: { requestId: request.id, reply: "reject", message: text } };
  const begun = answers.length === 0 ? [[]] : answers;
  const chosen = [...(begun.at(-1) ?? []), text];
  const question = request.questions?.[begun.length - 1];
  return question?.multiple ? { answers: withLast(begun, chosen) } : answered(request, withLast(begun, [text]));
};
