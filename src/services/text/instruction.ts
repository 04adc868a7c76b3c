/** Who gives a running task a further instruction: the agent that launched it, or a person. */
export type InstructionSource = "agent" | "user";

const GIVERS: Record<InstructionSource, string> = {
  agent: "The agent that launched you",
  user: "The user",
};

/** Returns an instruction as the child reads it, in the middle of its work. */
export const instructionText = (prompt: string, from: InstructionSource): string =>
  `${GIVERS[from]} gives you a further instruction while you work. Follow it from now on, and go on with your task:\n\n${prompt}`;
