/** Whether the key belongs to an input method; WebKit sends the Enter that ends a composition after its end. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Whether the key event is the shortcut, such as "Ctrl+I"; on a Mac Cmd stands for Ctrl, too. */
export function isShortcut(event: KeyboardEvent, shortcut: string): boolean {
  const parts = shortcut.toLowerCase().split("+");
  const key = parts.pop();
  if (!key || key === "none" || event.key.toLowerCase() !== key || isComposing(event)) return false;
  const control = parts.includes("ctrl");
  return (
    (event.ctrlKey || event.metaKey) === control &&
    event.shiftKey === parts.includes("shift") &&
    event.altKey === parts.includes("alt")
  );
}
