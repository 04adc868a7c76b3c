import type { ComponentChildren } from "preact";

interface TabsProps {
  views: readonly (readonly [name: string, label: string])[];
  shown: string;
  onShow(name: string): void;
  children: ComponentChildren;
}

/** The views of a task, of which one is shown; the arrow keys go through them. */
export const Tabs = ({ views, shown, onShow, children }: TabsProps) => {
  const idOf = (name: string) => `tab-${name || "overview"}`;
  const onKeyDown = ({ key }: KeyboardEvent) => {
    const step = key === "ArrowRight" ? 1 : key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = views.findIndex(([name]) => name === shown);
    const [next = ""] = views[(at + step + views.length) % views.length] ?? [];
    onShow(next);
    document.getElementById(idOf(next))?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Views of the task" onKeyDown={onKeyDown}>
        {views.map(([name, label]) => (
          <button
            key={name}
            id={idOf(name)}
            type="button"
            role="tab"
            aria-selected={name === shown}
            aria-controls="view"
            tabIndex={name === shown ? 0 : -1}
            onClick={() => onShow(name)}
          >
            {label}
          </button>
        ))}
      </div>
      <div id="view" class="view" role="tabpanel" aria-labelledby={idOf(shown)}>
        {children}
      </div>
    </>
  );
};
