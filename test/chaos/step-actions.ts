import { agentSteps } from "./agent-steps.ts";
import { fileSteps } from "./file-steps.ts";
import { hostSteps } from "./host-steps.ts";
import { peopleSteps } from "./people-steps.ts";
import { processSteps } from "./process-steps.ts";
import type { StepActions } from "./step-action.ts";

/** The action of each kind of step. */
export const stepActions: StepActions = { ...agentSteps, ...peopleSteps, ...hostSteps, ...processSteps, ...fileSteps };
