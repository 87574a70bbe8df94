import type { VNode } from "preact";

const PATHS = {
  book: "M12 6.5C10 5 7 4.5 4 5v13c3-.5 6 0 8 1.5 2-1.5 5-2 8-1.5V5c-3-.5-6 0-8 1.5Zm0 0v13",
  close: "M6 6l12 12M18 6 6 18",
  send: "M12 19V5m-6 6 6-6 6 6",
  stop: "M8 8h8v8H8z",
  trash: "M5 7h14M10 7V5h4v2M7 7l1 12h8l1-12",
  copy: "M9 9h10v10H9zM5 15V5h10",
  check: "m5 12 5 5L19 7",
  retry: "M19 12a7 7 0 1 1-2-5l2 2m0-5v5h-5",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1m2 4a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  up: "M7 11v9H4v-9h3Zm0 0 4-7c2 0 3 1 2.500 3L13 10h6c1 0 2 1 1.700 2l-1.700 6.500c-.3 1-1 1.500-2 1.500H7",
  down: "M17 13V4h3v9h-3Zm0 0-4 7c-2 0-3-1-2.500-3L11 14H5c-1 0-2-1-1.700-2L5 5.500C5.300 4.500 6 4 7 4h10",
  quote: "M5 6h14M5 12h9M5 18h6",
} as const;

/** A drawing without a name: its button has one. */
export function Icon({ name }: { name: keyof typeof PATHS }): VNode {
  return (
    <svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
