import { Lexer, type MarkedToken, type Token, type Tokens } from 'marked'
import type { ComponentChildren } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { visibleText } from '../libero.ts'
import { CodeBlock } from './code-block.tsx'
import { createMarkdownBlocks } from './markdown-blocks.ts'
import { memo } from './react.ts'
import '../styles/markdown.css'

interface MarkdownProps {
  readonly text: string
  /** It still grows: its last block is drawn again with each change, and all others stay as they are. */
  readonly isOpen?: boolean
}

/** Markdown as elements. Nothing in it becomes HTML: tags are shown as text, and links lead to web pages only. */
export function Markdown({ text, isOpen = false }: MarkdownProps) {
  const blocks = useRef(createMarkdownBlocks()).current.update(text)
  const links = useMemo(() => linksIn(text), [isOpen ? '' : text])
  return (
    <div class="markdown">
      {blocks.map((block, i) => (
        <Block key={i} text={block} links={links} isOpen={isOpen && i === blocks.length - 1} />
      ))}
    </div>
  )
}

type Links = Readonly<Record<string, { readonly href: string; readonly title: string }>>

interface BlockProps extends MarkdownProps {
  readonly links: Links
}

const Block = memo(function Block({ text, isOpen = false, links }: BlockProps) {
  const tokens = useMemo(() => tokensOf(text, links), [text, links])
  if (!tokens) return <p class="plain">{visibleText(text)}</p>
  return <>{tokens.map((token, i) => blockOf(token, i, isOpen))}</>
})

/** What a block consists of; undefined if that would take too long to find out: the block is then shown as it was written. */
function tokensOf(text: string, links: Links): readonly Token[] | undefined {
  const isCode = /^[ \t]*(?:```|~~~)/.test(text)
  if (!isCode && (text.length > mostInBlock || isDense(text))) return undefined
  const lexer = new Lexer({ gfm: true })
  Object.assign(lexer.tokens.links, links)
  try {
    return lexer.lex(text)
  } catch {
    return undefined // nested too deeply
  }
}

/** The time to read some texts grows with the square of their length. */
const mostInBlock = 16_384

/** No prose has so many signs with a meaning; of those that do, some take the lexer seconds. */
const isDense = (text: string): boolean =>
  text.length > 2048 && (text.match(/[_*`<>[\]~|]/g)?.length ?? 0) > text.length / 4

/** What `[name]` stands for, for all blocks of a text. */
function linksIn(text: string): Links {
  if (!text.includes(']:')) return none
  const found = text.matchAll(/^ {0,3}\[([^\]\n]{1,200})\]:[ \t]*<?([^\s>]{1,2000})>?/gm)
  return Object.fromEntries(
    Array.from(found, ([, name, href]) => [name!.toLowerCase().replace(/\s+/g, ' '), { href: href!, title: '' }]),
  )
}

const none: Links = {}

function blockOf(any: Token, key: number, isOpen: boolean): ComponentChildren {
  const token = any as MarkedToken
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'heading':
      // All of one level: a level that is left out confuses those who hear the page.
      return (
        <h2 key={key} class={`heading-${token.depth}`}>
          {inline(token.tokens)}
        </h2>
      )
    case 'code':
      return <CodeBlock key={key} code={token.text} language={token.lang?.split(/\s/)[0]} isOpen={isOpen} />
    case 'blockquote':
      return <blockquote key={key}>{token.tokens.map((one, i) => blockOf(one, i, isOpen))}</blockquote>
    case 'list':
      return listOf(token, key, isOpen)
    case 'table':
      return tableOf(token, key)
    case 'hr':
      return <hr key={key} />
    case 'html':
      return (
        <p key={key} class="plain">
          {visibleText(token.text.trimEnd())}
        </p>
      )
    case 'text':
      return <span key={key}>{token.tokens ? inline(token.tokens) : plain(token.text)}</span>
    case 'paragraph':
      return <p key={key}>{inline(token.tokens)}</p>
    default:
      return <p key={key}>{visibleText(any.raw)}</p>
  }
}

function listOf({ items, ordered, start }: Tokens.List, key: number, isOpen: boolean): ComponentChildren {
  const children = items.map(({ tokens, task, checked }, i) => (
    <li key={i} class={task ? 'task' : undefined}>
      {task && (
        <span class="task-mark" role="img" aria-label={checked ? 'done' : 'open'}>
          {checked ? '☑' : '☐'}
        </span>
      )}
      {tokens.filter(({ type }) => type !== 'checkbox').map((one, at) => blockOf(one, at, isOpen))}
    </li>
  ))
  if (!ordered) return <ul key={key}>{children}</ul>
  return (
    <ol key={key} start={start === '' ? 1 : start}>
      {children}
    </ol>
  )
}

function tableOf({ header, rows, align }: Tokens.Table, key: number): ComponentChildren {
  const cell = (at: number) => (align[at] ? { class: `align-${align[at]}` } : {})
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled with the keyboard
    <section key={key} class="table" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, i) => (
              <th key={i} scope="col" {...cell(i)}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map(({ tokens }, i) => (
                <td key={i} {...cell(i)}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const inline = (tokens: readonly Token[]): ComponentChildren => tokens.map(inlineOf)

function inlineOf(any: Token, key: number): ComponentChildren {
  const token = any as MarkedToken
  switch (token.type) {
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens) : plain(token.text)
    case 'escape':
      return plain(token.text)
    case 'strong':
      return <strong key={key}>{inline(token.tokens)}</strong>
    case 'em':
      return <em key={key}>{inline(token.tokens)}</em>
    case 'del':
      return <del key={key}>{inline(token.tokens)}</del>
    case 'codespan':
      return <code key={key}>{visibleText(token.text)}</code>
    case 'br':
      return <br key={key} />
    case 'link':
      return (
        <WebLink key={key} href={token.href}>
          {inline(token.tokens)}
        </WebLink>
      )
    case 'image':
      // Loading it would tell its server that it was read.
      return <WebLink key={key} href={token.href}>{`image: ${visibleText(token.text || token.href)}`}</WebLink>
    default:
      return visibleText(any.raw)
  }
}

/** A link to a web page or a mail address; anything else is text. */
export function WebLink({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  const address = webAddress(href)
  if (address === undefined) return <span title={visibleText(href)}>{children}</span>
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  )
}

function webAddress(href: string): string | undefined {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return undefined
  return URL.canParse(href) ? new URL(href).href : undefined
}

const plain = (text: string): string => visibleText(text.includes('&') ? text.replace(entity, decoded) : text)

const entity = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp|copy|hellip|mdash|ndash|rarr|larr|times));/gi
const named: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', copy: '©' },
  ...{ hellip: '…', mdash: '—', ndash: '–', rarr: '→', larr: '←', times: '×' },
}

function decoded(whole: string, decimal?: string, hex?: string, name?: string): string {
  if (name !== undefined) return named[name.toLowerCase()] ?? whole
  const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
}
