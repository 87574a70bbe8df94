// Cards as a file.
import type { VNode } from "preact";
import { ankiFile, type Card } from "../cards";
import { t } from "../texts";

export function Export({ cards }: { cards: readonly Card[] }): VNode {
  const save = () => {
    const url = URL.createObjectURL(new Blob([ankiFile(cards)], { type: "text/csv" }));
    Object.assign(document.createElement("a"), { href: url, download: "cards.csv" }).click();
    URL.revokeObjectURL(url);
  };
  return <button type="button" class="tbr-chip" onClick={save}>{t("cardsExport")}</button>;
}
