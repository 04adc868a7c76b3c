import type { Bus } from "./bus.ts";
import { type Answer, type AnswerTo, EVERYBODY, type Question } from "./questions.ts";

type QuestionOf<Type extends Question["type"]> = Extract<Question, { type: Type }>;

/** What a server answers with. */
export interface AnsweringDeps {
  bus: Pick<Bus, "onAsked">;
  /** The id of this server. */
  server: string;
  /** Says who this server is, and how much it works on. */
  presence(): AnswerTo<QuestionOf<"present">>;
  /** Says whether this server can go on with a conversation; undefined where it is of another project. */
  mayResume(question: QuestionOf<"mayResume">): Promise<AnswerTo<QuestionOf<"mayResume">> | undefined>;
  /** Reads a conversation; undefined where this process does not have it. */
  conversation(question: QuestionOf<"conversation">): Promise<AnswerTo<QuestionOf<"conversation">> | undefined>;
  messages(question: QuestionOf<"messages">): Promise<AnswerTo<QuestionOf<"messages">> | undefined>;
}

/** Has this server answer what it is asked, as long as it works for others. Returns how to stop that. */
export const answerQuestions = (deps: AnsweringDeps): (() => void) => {
  const { bus, server, presence, mayResume, conversation, messages } = deps;
  const answer = async (question: Question): Promise<Answer | undefined> => {
    switch (question.type) {
      case "present":
        return presence();
      case "mayResume":
        return mayResume(question);
      case "conversation":
        return conversation(question);
      case "messages":
        return messages(question);
    }
  };
  const stops = [
    bus.onAsked(server, answer),
    // All others are for one server: a fleet would do much for one who asks them of all.
    bus.onAsked(EVERYBODY, async (question) => (question.type === "present" ? presence() : undefined)),
  ];
  return () => {
    for (const stop of stops) stop();
  };
};
