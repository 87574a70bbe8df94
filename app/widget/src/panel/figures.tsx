// The book's own images in an answer.
import { Fragment, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { imageUrl } from "../links";
import { t } from "../texts";
import type { Figure } from "../turn";
import { Link } from "./answer";
import { Icon } from "./icons";
import type { Store } from "./store";

/** `said` is the text below them; a caption that it has is not repeated. */
export function Figures({ store, figures, said = "" }: { store: Store; figures: readonly Figure[]; said?: string }): VNode {
  return <Fragment>{figures.map((figure) => <FigureView key={figure.url} store={store} figure={figure} said={said} />)}</Fragment>;
}

/** The image, enlarged on click, above its caption; of a broken image only the caption. */
function FigureView({ store, figure, said }: { store: Store; figure: Figure; said: string }): VNode | null {
  const [broken, setBroken] = useState(false);
  const [zoomed, setZoomed] = useState(false);
  const src = imageUrl(store.config, figure.url);
  const title = figure.caption || figure.alt;
  const shown = src && !broken;
  if (!shown && !title) return null;
  const target = { id: figure.paragraph_id, url: figure.page_url, quote: figure.caption, prefix: "", suffix: "" };
  return (
    <figure class="tbr-figure">
      {shown && (
        <button type="button" class="tbr-zoom" aria-label={t("enlarge", { title })} onClick={() => setZoomed(true)}>
          <img src={src} alt={figure.alt} loading="lazy" decoding="async" onError={() => setBroken(true)} />
        </button>
      )}
      {!(shown && title && said.includes(title)) && <figcaption><Link store={store} target={target}>{title || t("figure")}</Link></figcaption>}
      {zoomed && <Enlarged src={src} figure={figure} close={() => setZoomed(false)} />}
    </figure>
  );
}

function Enlarged({ src, figure, close }: { src: string; figure: Figure; close: () => void }): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="tbr-enlarged" aria-label={figure.caption || figure.alt} onClose={close} onClick={() => dialog.current?.close()} onKeyDown={(event) => event.stopPropagation()}>
      <button type="button" class="tbr-icon" aria-label={t("close")}><Icon name="close" /></button>
      <img src={src} alt={figure.alt} />
      {figure.caption && <p dir="auto">{figure.caption}</p>}
    </dialog>
  );
}
