import { hasEnded, type Task } from "../../src/task.ts";
import type { Simulation } from "./simulation.ts";

/**
 * Every run that has ended has a receipt of its own, which tells of no more than there was; one that is completed has passed
 * its gate and fits its schema.
 */
export const wrongReceipts = ({ host }: Simulation, stored: readonly Task[]): string[] =>
  stored.filter(hasEnded).flatMap(({ sessionID, resumeCount, receipt, gate, schema, status, result = "" }) => {
    if (schema && status === "completed" && !result.startsWith('"')) return `${sessionID} is completed with ${result}`;
    if (!receipt) return `${sessionID} has ended, and has no receipt`;
    if (receipt.run !== resumeCount) return `${sessionID} has the receipt of run ${receipt.run}, not ${resumeCount}`;
    if (gate && status === "completed" && receipt.gate?.exit !== 0) return `${sessionID} is completed without its gate`;
    if (!host.sessionIDs().includes(sessionID)) return [];
    const calls = receipt.tools.reduce((sum, tool) => sum + tool.calls, 0);
    const there = new Set(
      host.at(sessionID).reported.flatMap(({ event }) => (event.type === "toolCall" ? event.callID : [])),
    );
    return calls > there.size ? `the receipt of ${sessionID} has ${calls} tool calls of ${there.size}` : [];
  });
