import { useEffect, useRef, useState } from "preact/hooks";
import { type Filters, STATUS_CHOICES } from "./filters.ts";
import { lastPart } from "./format.ts";

/** Milliseconds after the last key before the tasks are searched. */
const SEARCH_AFTER_MS = 200;

interface FilterBarProps {
  filters: Filters;
  agents: string[];
  directories: string[];
  /** How many tasks wait for a person. */
  waiting: number;
  onChange(changes: Partial<Filters>): void;
}

const Choice = ({
  label,
  value,
  values,
  text = (value) => value,
  onChange,
}: {
  label: string;
  value: string;
  values: string[];
  text?: (value: string) => string;
  onChange: (value: string) => void;
}) => (
  <label class={value === "" ? "choice" : "choice given"}>
    <span class="sr">{label}</span>
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      <option value="">{label}: all</option>
      {[...new Set([...values, value])]
        .filter((one) => one !== "")
        .map((one) => (
          <option key={one} value={one}>
            {text(one)}
          </option>
        ))}
    </select>
  </label>
);

/** What decides which tasks are shown. All of it is in the address, so that a link shows the same. */
export const FilterBar = ({ filters, agents, directories, waiting, onChange }: FilterBarProps) => {
  const [text, setText] = useState(filters.search);
  useEffect(() => setText(filters.search), [filters.search]);
  const change = useRef(onChange);
  change.current = onChange;
  // Only another key waits anew: what happens on the board meanwhile does not put the search off.
  useEffect(() => {
    if (text === filters.search) return;
    const timer = setTimeout(() => change.current({ search: text }), SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text, filters.search]);
  return (
    <search class="filters">
      <fieldset class="statuses">
        <legend class="sr">Status</legend>
        {STATUS_CHOICES.map(([value, label]) => (
          <button
            key={value}
            type="button"
            aria-pressed={filters.status === value}
            class={value === "waiting" && waiting > 0 ? "some" : ""}
            onClick={() => onChange({ status: value })}
          >
            {label}
            {value === "waiting" && waiting > 0 && <b>{waiting}</b>}
          </button>
        ))}
      </fieldset>
      <div class="fields">
        <label class="text">
          <span class="sr">Search descriptions</span>
          <input
            id="search"
            type="search"
            placeholder="Search  /"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <Choice label="Agent" value={filters.agent} values={agents} onChange={(agent) => onChange({ agent })} />
        <Choice
          label="Directory"
          value={filters.directory}
          values={directories}
          text={lastPart}
          onChange={(directory) => onChange({ directory })}
        />
      </div>
    </search>
  );
};
