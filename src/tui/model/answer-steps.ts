import type { OpenUserRequest, UserQuestion, UserReply } from "../../user-request.ts";

/** The answers to each question so far, in order; the last question may take more. `[[]]` at first. */
export type Answers = readonly (readonly string[])[];

/** What a choice leads to: a reply that is complete, a text that the person has to write, or the next step. */
export type AnswerProgress = { reply: UserReply } | { write: "message" | "answer" } | { answers: Answers };

/** Something to choose while a request is answered, and what it leads to. */
export interface Choice {
  title: string;
  description?: string;
  value: AnswerProgress;
}

/** What is asked next. */
export interface AnswerStep {
  title: string;
  choices: Choice[];
}

const permissionStep = ({ id: requestId, what, always = [] }: OpenUserRequest): AnswerStep => ({
  title: `Permission: ${what}`,
  choices: [
    { title: "Allow once", value: { reply: { requestId, reply: "once" } } },
    ...(always.length > 0
      ? [
          {
            title: "Allow always",
            description: always.join(", "),
            value: { reply: { requestId, reply: "always" as const } },
          },
        ]
      : []),
    { title: "Reject", value: { reply: { requestId, reply: "reject" } } },
    { title: "Reject, and say why …", value: { write: "message" } },
  ],
});

/** Goes on to the next question, or completes the reply after the last one. */
const answered = (request: OpenUserRequest, answers: Answers): AnswerProgress => {
  if (answers.length < (request.questions?.length ?? 0)) return { answers: [...answers, []] };
  return { reply: { requestId: request.id, answers: answers.map((chosen) => [...chosen]) } };
};

const questionStep = (
  request: OpenUserRequest,
  { question, options, multiple, custom }: UserQuestion,
  answers: Answers,
): AnswerStep => {
  const [before, chosen] = [answers.slice(0, -1), answers.at(-1) ?? []];
  const count = request.questions?.length ?? 1;
  return {
    title: `${count === 1 ? "" : `${answers.length} of ${count}: `}${question}`,
    choices: [
      ...options.map((option): Choice => {
        if (!multiple) return { title: option, value: answered(request, [...before, [option]]) };
        const isChosen = chosen.includes(option);
        const others = isChosen ? chosen.filter((other) => other !== option) : [...chosen, option];
        return { title: `${isChosen ? "[x]" : "[ ]"} ${option}`, value: { answers: [...before, others] } };
      }),
      ...(custom ? [{ title: "Something else …", value: { write: "answer" as const } }] : []),
      ...(multiple && chosen.length > 0 ? [{ title: "That is all", value: answered(request, answers) }] : []),
      { title: "Reject the question", value: { reply: { requestId: request.id, reply: "reject" } } },
    ],
  };
};

/** Returns what is to be chosen next to answer a request; undefined where it asks nothing. */
export const nextStep = (request: OpenUserRequest, answers: Answers): AnswerStep | undefined => {
  if (request.kind === "permission") return permissionStep(request);
  const question = request.questions?.[answers.length - 1];
  return question && questionStep(request, question, answers);
};

/** Returns what follows from a text that the person has written. */
export const afterText = (
  request: OpenUserRequest,
  answers: Answers,
  what: "message" | "answer",
  text: string,
): AnswerProgress => {
  if (what === "message") return { reply: { requestId: request.id, reply: "reject", message: text } };
  const [before, chosen] = [answers.slice(0, -1), answers.at(-1) ?? []];
  return request.questions?.[before.length]?.multiple
    ? { answers: [...before, [...chosen, text]] }
    : answered(request, [...before, [text]]);
};
