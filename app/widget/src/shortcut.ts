/** Whether the key event is the shortcut, such as "Ctrl+I"; on a Mac Cmd stands for Ctrl, too. */
export function isShortcut(event: KeyboardEvent, shortcut: string): boolean {
  const parts = shortcut.toLowerCase().split("+");
  const key = parts.pop();
  if (!key || key === "none" || event.key.toLowerCase() !== key || event.isComposing) return false;
  const control = parts.includes("ctrl");
  return (
    (event.ctrlKey || event.metaKey) === control &&
    event.shiftKey === parts.includes("shift") &&
    event.altKey === parts.includes("alt")
  );
}
