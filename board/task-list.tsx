import { useEffect, useMemo, useState } from "preact/hooks";
import { nowDoing, whoWorks } from "./doing.ts";
import { isActive } from "./filters.ts";
import { cost, count, duration, lastPart, shortId, time, usage } from "./format.ts";
import { useNow } from "./hooks.ts";
import type { ListedTask } from "./listed-task.ts";
import { markOf, statusText } from "./mark.ts";
import { arrange, type Counts, type Row } from "./rows.ts";
import { StatusMark } from "./status-mark.tsx";
import type { BoardState } from "./task-board.ts";
import { VirtualList } from "./virtual-list.tsx";

/** Rows that a page of the keyboard skips. */
const PAGE_ROWS = 10;

/** Sums up tasks. Those of a batch repeat nothing that their conversation says above them. */
const Sums = ({ counts, ofBatch = false }: { counts: Counts; ofBatch?: boolean }) => (
  <span class="sums">
    {!ofBatch && counts.waiting > 0 && <b class="waiting">{counts.waiting} for you</b>}
    {!ofBatch && counts.active > 0 && <span>{counts.active} active</span>}
    {!ofBatch && counts.failed > 0 && <span class="failed">{counts.failed} failed</span>}
    <span class={ofBatch ? "" : "wide"}>{count(counts.total, "task")}</span>
    <span class="wide">{cost(counts.cost) || usage(counts)}</span>
  </span>
);

const Elapsed = ({ task }: { task: ListedTask }) => {
  const now = useNow(isActive(task));
  const end = task.completedAt === undefined ? now : Date.parse(task.completedAt);
  return <>{duration(end - Date.parse(task.runStartedAt))}</>;
};

const TaskRow = ({ task, depth }: { task: ListedTask; depth: number }) => (
  <div class={`task ${markOf(task)}`}>
    {depth > 0 && <span class="branch" style={{ width: `${Math.min(depth, 6) * 18}px` }} />}
    <StatusMark task={task} />
    <span class="what">
      <span class="line1">
        <span class="name">{task.description}</span>
        <span class="elapsed">
          <Elapsed task={task} />
        </span>
      </span>
      <span class="line2">
        <span class="doing">
          <span class="agent">{whoWorks(task)}</span>
          <span class="sr">{statusText(task)}. </span>
          {nowDoing(task)}
        </span>
        <span class="used">{usage(task.usage)}</span>
      </span>
    </span>
  </div>
);

const Chevron = ({ isOpen }: { isOpen: boolean }) => (
  <svg class={isOpen ? "chevron open" : "chevron"} viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
    <path d="m6 3.5 4.5 4.5L6 12.5" />
  </svg>
);

const RowContent = ({ row }: { row: Row }) => {
  if (row.kind === "task") return <TaskRow task={row.task} depth={row.depth} />;
  if (row.kind === "batch") {
    return (
      <div class="batch">
        <Chevron isOpen={row.isOpen} />
        <span>Launched {time(row.startedAt)}</span>
        <Sums counts={row.counts} ofBatch={row.isOpen} />
      </div>
    );
  }
  const { first } = row;
  return (
    <div class="conversation">
      <Chevron isOpen={row.isOpen} />
      <span class="name">
        {lastPart(first.directory)} <span class="soft">{first.parentAgent}</span>{" "}
        <code title={row.id}>{first.parentTaskId === undefined ? shortId(row.id) : `task ${shortId(row.id)}`}</code>
      </span>
      <Sums counts={row.counts} />
    </div>
  );
};

interface TaskListProps {
  board: BoardState;
  /** Id of the task that is open. */
  open: string;
  hasFilters: boolean;
  onOpen(id: string, withKeyboard: boolean): void;
  onNearEnd(): void;
  onClear(): void;
}

/** The tasks by conversation and batch: a tree, of which the keyboard goes through every row. */
export const TaskList = ({ board, open, hasFilters, onOpen, onNearEnd, onClear }: TaskListProps) => {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [activeKey, setActiveKey] = useState(open);
  const [moved, setMoved] = useState(0);
  const rows = useMemo(() => arrange(board.tasks, closed), [board.tasks, closed]);
  useEffect(() => {
    if (open !== "") setActiveKey(open);
  }, [open]);
  const active = rows.findIndex(({ key }) => key === activeKey);
  const shown = active >= 0 ? active : rows.findIndex(({ kind }) => kind === "task");

  const goTo = (index: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (!row) return;
    setActiveKey(row.key);
    setMoved((count) => count + 1);
  };

  const toggle = (key: string, isOpen: boolean) => {
    const next = new Set(closed);
    if (isOpen) next.add(key);
    else next.delete(key);
    setClosed(next);
    setActiveKey(key);
  };

  const choose = (row: Row | undefined, withKeyboard: boolean) => {
    if (!row) return;
    if (row.kind !== "task") return toggle(row.key, row.isOpen);
    setActiveKey(row.key);
    onOpen(row.key, withKeyboard);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rows[shown];
    const steps: Record<string, () => void> = {
      ArrowDown: () => goTo(shown + 1),
      j: () => goTo(shown + 1),
      ArrowUp: () => goTo(shown - 1),
      k: () => goTo(shown - 1),
      PageDown: () => goTo(shown + PAGE_ROWS),
      PageUp: () => goTo(shown - PAGE_ROWS),
      Home: () => goTo(0),
      End: () => goTo(rows.length - 1),
      Enter: () => choose(row, true),
      " ": () => choose(row, true),
      ArrowRight: () => row && row.kind !== "task" && !row.isOpen && toggle(row.key, false),
      ArrowLeft: () => {
        if (row && row.kind !== "task" && row.isOpen) return toggle(row.key, true);
        goTo(rows.findLastIndex(({ level }, index) => index < shown && level < (row?.level ?? 0)));
      },
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  };

  const rowId = (key: string) => `row-${key}`;
  const current = rows[shown];
  const sizeOf = { "aria-setsize": -1 };

  if (rows.length === 0) {
    return (
      <div class="empty">
        {board.isLoading || board.connection === "connecting" ? (
          <p>Loading …</p>
        ) : hasFilters ? (
          <>
            <p>No task matches.</p>
            <button type="button" onClick={onClear}>
              Show all tasks
            </button>
          </>
        ) : (
          <p>No tasks yet. When an agent launches one, it appears here.</p>
        )}
      </div>
    );
  }

  return (
    <VirtualList
      rows={rows}
      active={shown}
      moved={moved}
      onNearEnd={onNearEnd}
      attributes={{
        id: "tasks",
        class: "tree",
        role: "tree",
        tabIndex: 0,
        "aria-label": "Tasks by conversation",
        ...(current ? { "aria-activedescendant": rowId(current.key) } : {}),
        onKeyDown,
      }}
      render={(row, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree has the keyboard, and moves through its items
        // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the item that is active
        <div
          role="treeitem"
          id={rowId(row.key)}
          class={index === shown ? "row active" : "row"}
          aria-level={row.level}
          aria-posinset={index + 1}
          {...sizeOf}
          aria-selected={row.kind === "task" && row.key === open}
          {...(row.kind === "task" ? {} : { "aria-expanded": row.isOpen })}
          onClick={() => choose(row, false)}
        >
          <RowContent row={row} />
        </div>
      )}
    />
  );
};
