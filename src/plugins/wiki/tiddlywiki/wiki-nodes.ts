import type { FakeNode } from './tiddlywiki-core.ts'

/** A part of a rendered text: words, or an element of the allow-list. A page makes elements of it, never HTML. */
export type WikiNode = string | WikiElement

export interface WikiElement {
  readonly tag: string
  readonly attributes?: Readonly<Record<string, string>>
  readonly children?: readonly WikiNode[]
}

/** More is left out, and the last text says so. */
const mostNodes = 20_000
const mostCharacters = 500_000
const deepest = 60

/** What TiddlyWiki rendered, as elements of the allow-list. Others are replaced by their content, or left out with it. */
export function wikiNodes(top: FakeNode): readonly WikiNode[] {
  let [nodes, characters] = [0, 0]

  function contentOf({ children }: FakeNode, depth: number): WikiNode[] {
    const content: WikiNode[] = []
    for (const child of children) {
      if (++nodes > mostNodes || characters > mostCharacters) return [...content, '…']
      if (child.nodeType === 3) add(content, child.textContent)
      else if (child.nodeType === 1) for (const node of elementOf(child, depth)) add(content, node)
    }
    return content
  }

  function add(content: WikiNode[], node: WikiNode): void {
    const last = content.at(-1)
    if (typeof node === 'string') characters += node.length
    if (node === '') return
    if (typeof node === 'string' && typeof last === 'string') content[content.length - 1] = last + node
    else content.push(node)
  }

  function elementOf(node: FakeNode, depth: number): readonly WikiNode[] {
    const tag = (node.tag ?? '').toLowerCase()
    if (tag === 'img') return imageLink(node)
    if (leftOut.has(tag)) return []
    const attributes = attributesOf(tag, node)
    // A link that leads nowhere is only its words.
    const isShown = allowed.has(tag) && depth < deepest && (tag !== 'a' || attributes.href !== undefined)
    const children = depth > deepest * 2 ? [node.textContent] : contentOf(node, depth + 1)
    if (!isShown) return children
    return [
      {
        tag,
        ...(Object.keys(attributes).length > 0 && { attributes }),
        ...(children.length > 0 && { children }),
      },
    ]
  }

  return contentOf(top, 0)
}

const allowed: ReadonlySet<string> = new Set([
  ...['p', 'div', 'span', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'br', 'blockquote', 'cite', 'q', 'pre', 'code'],
  ...['ul', 'ol', 'li', 'dl', 'dt', 'dd', 'table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td', 'a'],
  ...['em', 'strong', 'i', 'b', 'u', 's', 'del', 'ins', 'sub', 'sup', 'mark', 'small', 'abbr', 'kbd', 'samp', 'var'],
  ...['details', 'summary'],
])

/** Their content is no text for people, or would have effects. */
const leftOut: ReadonlySet<string> = new Set([
  ...['script', 'style', 'template', 'noscript', 'iframe', 'frame', 'frameset', 'object', 'embed', 'applet', 'svg'],
  ...['math', 'canvas', 'audio', 'video', 'source', 'track', 'input', 'select', 'textarea', 'option', 'head', 'title'],
  ...['link', 'meta', 'base', 'portal', 'map', 'area'],
])

const number = /^\d{1,3}$/

/** The attributes that are kept, by element; each value must match. */
const attributes: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  a: { href: /^(?:https?:\/\/|mailto:)[^\s\p{Cc}]{1,2000}$/iu, title: /^[^\p{Cc}]{1,300}$/u },
  abbr: { title: /^[^\p{Cc}]{1,300}$/u },
  code: { class: /^language-[\w-]{1,40}$/ },
  details: { open: /^(?:|open)$/ },
  ol: { start: number },
  td: { colspan: number, rowspan: number },
  th: { colspan: number, rowspan: number, scope: /^(?:row|col)$/ },
}

function attributesOf(tag: string, { attributes: given = {} }: FakeNode): Record<string, string> {
  const kept = Object.entries(Object.hasOwn(attributes, tag) ? attributes[tag]! : {})
  return Object.fromEntries(
    kept.flatMap(([name, form]) => {
      const value = Object.hasOwn(given, name) ? given[name] : undefined
      return typeof value === 'string' && form.test(value) ? [[name, value]] : []
    }),
  )
}

/** An image of another place would tell that place who reads, so that it is a link. */
function imageLink({ attributes: given = {} }: FakeNode): readonly WikiNode[] {
  const { src = '', alt = '', title = '' } = given
  const words = String(alt || title || src).slice(0, 300)
  if (!/^https?:/i.test(src)) return words === '' || words === src ? [] : [words]
  const href = attributesOf('a', { attributes: { href: src } } as unknown as FakeNode)
  return href.href === undefined ? [words] : [{ tag: 'a', attributes: href, children: [words] }]
}
