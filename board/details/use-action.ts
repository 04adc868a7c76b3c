import { useContext, useState } from "preact/hooks";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { ApiError } from "../api.ts";
import { IsLive } from "../is-live.ts";

/** Something that a person has the server do: whether it can be done now, and why it failed. */
export const useAction = (onChanged: (task: ApiTask) => void, onTokenLost: () => void) => {
  const [isUnderWay, setUnderWay] = useState(false);
  const [problem, setProblem] = useState("");
  const isLive = useContext(IsLive);
  /** Does it; resolves to whether it was done. */
  const act = async (work: () => Promise<ApiTask>): Promise<boolean> => {
    setUnderWay(true);
    setProblem("");
    try {
      onChanged(await work());
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) onTokenLost();
      setProblem(error instanceof Error ? error.message : String(error));
      return false;
    } finally {
      setUnderWay(false);
    }
  };
  return { canAct: isLive && !isUnderWay, problem, act };
};
