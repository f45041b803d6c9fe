import { type ComponentChildren, createElement } from 'preact'
import { usePage } from '../frame/page-context.ts'
import { type RemoteWikiNode, visibleText } from '../libero.ts'
import { WebLink } from './markdown.tsx'
import { useAnswer } from './use-answer.ts'

/** Wikitext as the server renders it, rebuilt from a list of elements. Until then, and where there is no TiddlyWiki, it is text. */
export function Wikitext({ text }: { readonly text: string }) {
  const { client } = usePage()
  const { value: nodes } = useAnswer(() => client.wikitext(text), [text])
  if (!nodes) return <pre class="output">{visibleText(text)}</pre>
  return <div class="markdown">{nodes.map(elementOf)}</div>
}

/** The page keeps a list of its own: it does not rely on that of the server. */
const elements: ReadonlySet<string> = new Set([
  ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'dl', 'dt', 'dd', 'blockquote'],
  ...['pre', 'code', 'strong', 'em', 'b', 'i', 'u', 's', 'del', 'ins', 'sub', 'sup', 'mark', 'small', 'kbd'],
  ...['table', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'caption', 'div', 'span', 'cite', 'abbr', 'q'],
])

function elementOf(node: RemoteWikiNode, key: number): ComponentChildren {
  if (typeof node === 'string') return visibleText(node)
  const { tag, attributes = {}, children = [] } = node
  const inner = children.map(elementOf)
  if (tag === 'a')
    return (
      <WebLink key={key} href={String(attributes.href ?? '')}>
        {inner}
      </WebLink>
    )
  if (!elements.has(tag)) return <span key={key}>{inner}</span>
  const heading = /^h[1-6]$/.test(tag)
  return createElement(heading ? 'h2' : tag, { key, ...(heading && { class: `heading-${tag[1]}` }) }, ...(inner as []))
}
