import type { ElementContent, RootContent } from "hast";
import type { ComponentChildren, VNode } from "preact";
import type { Code } from "../assets";
import { useChunk, useCopy } from "../panel/hooks";
import { t } from "../texts";

const PLAIN = new Set(["", "text", "txt", "plain", "plaintext", "none", "output"]);

/** A listing with its language, a copy button and, once the highlighter is there, colours. */
export function CodeBlock({ code, language }: { code: string; language: string }): VNode {
  const [copied, copy] = useCopy();
  const plain = PLAIN.has(language.toLowerCase());
  const highlighter = useChunk<Code>(plain ? "" : "code");
  const root = highlighter?.tokens(code, language.toLowerCase());
  return (
    <figure class="tbr-code">
      <figcaption>
        <span>{language}</span>
        <button type="button" class="tbr-plain" onClick={() => copy(code)}>{copied ? t("copied") : t("copy")}</button>
      </figcaption>
      <pre tabIndex={0} aria-label={language || t("code")} role="region"><code>{root ? root.children.map(element) : code}</code></pre>
    </figure>
  );
}

function element(node: RootContent | ElementContent): ComponentChildren {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const names = node.properties.className;
  return <span class={Array.isArray(names) ? names.join(" ") : undefined}>{node.children.map(element)}</span>;
}
