import type { MarkedToken, Token, Tokens } from 'marked'
import { diffHtml, escapeHtml, exactHtml, hostOf, looksLikeDiff, safeLink, textHtml } from './html.ts'

const mostNodes = 50_000
const deepest = 60

/**
 * Markdown tokens as HTML of a few harmless elements. Raw HTML becomes text, nothing is loaded, and links lead to the
 * web or a mail address only. Throws if the text is too big or nested too deeply. To be called in a thread, because
 * the parser can be made to hang.
 */
export function markdownHtml(tokens: readonly Token[]): string {
  let nodes = 0

  function all(list: readonly Token[] | undefined, depth: number): string {
    if (depth > deepest) throw new RangeError('the text is nested too deeply')
    return (list ?? []).map((token) => one(token as MarkedToken, depth)).join('')
  }

  function one(token: MarkedToken, depth: number): string {
    if (++nodes > mostNodes) throw new RangeError('the text has too many parts')
    const inside = (): string => all('tokens' in token ? token.tokens : undefined, depth + 1)
    switch (token.type) {
      case 'heading':
        // `h1` and `h2` belong to the page.
        return `<h${Math.min(6, token.depth + 2)}>${inside()}</h${Math.min(6, token.depth + 2)}>\n`
      case 'paragraph':
        return `<p>${inside()}</p>\n`
      case 'blockquote':
        return `<blockquote>${inside()}</blockquote>\n`
      case 'list':
        return list(token, depth)
      case 'list_item':
        return `<li>${inside()}</li>\n`
      case 'checkbox':
        return token.checked ? '☑ ' : '☐ '
      case 'table':
        return table(token, depth)
      case 'code':
        return codeBlock(token)
      case 'codespan':
        return `<code>${exactHtml(token.text)}</code>`
      case 'strong':
        return `<strong>${inside()}</strong>`
      case 'em':
        return `<em>${inside()}</em>`
      case 'del':
        return `<del>${inside()}</del>`
      case 'link':
        return link(token, inside())
      case 'image':
        return `<span class="gone">[image${token.text === '' ? '' : ` “${decodedText(token.text)}”`} from ${escapeHtml(hostOf(token.href))}, not loaded]</span>`
      case 'br':
        return '<br>\n'
      case 'hr':
        return '<hr>\n'
      case 'space':
      case 'def':
        return ''
      case 'text':
        return token.tokens ? inside() : decodedText(token.text)
      case 'escape':
        return decodedText(token.text)
      default:
        // Raw HTML, and whatever a later version finds.
        return textHtml((token as Token).raw)
    }
  }

  function list({ ordered, start, items }: Tokens.List, depth: number): string {
    const first = ordered && typeof start === 'number' && start !== 1 ? ` start="${Math.trunc(start)}"` : ''
    const tag = ordered ? 'ol' : 'ul'
    return `<${tag}${first}>\n${all(items, depth + 1)}</${tag}>\n`
  }

  function table({ header, rows }: Tokens.Table, depth: number): string {
    const row = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): string => {
      nodes += cells.length
      return `<tr>${cells.map((cell) => `<${tag}>${all(cell.tokens, depth + 1)}</${tag}>`).join('')}</tr>\n`
    }
    const body = rows.map((cells) => row('td', cells)).join('')
    return `<div class="wide"><table><thead>${row('th', header)}</thead><tbody>${body}</tbody></table></div>\n`
  }

  return all(tokens, 0)
}

function codeBlock({ text, lang = '' }: Tokens.Code): string {
  if (lang === 'diff' || looksLikeDiff(text)) return diffHtml(text.split('\n'))
  const label = lang === '' ? '' : `<span class="lang">${exactHtml(lang.slice(0, 40))}</span>`
  return `<div class="block">${label}<pre><code>${textHtml(text)}</code></pre></div>\n`
}

/** Adds the host unless the text of the link is its target. */
function link({ href, text }: Tokens.Link, inside: string): string {
  const safe = safeLink(href)
  if (!safe) return `<span class="gone">${inside} [link removed]</span>`
  const isNamed = text === safe.href || text === href || text === safe.host
  const host = isNamed ? '' : ` <span class="host">(${exactHtml(safe.host)})</span>`
  return `<a href="${escapeHtml(safe.href)}" target="_blank" rel="noopener noreferrer nofollow">${inside}</a>${host}`
}

/** Decodes the few entities that people write in Markdown; others stay as they are. */
function decodedText(text: string): string {
  return textHtml(text.replace(/&(lt|gt|amp|quot|#39|nbsp);/g, (entity, name: string) => entities[name] ?? entity))
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'", nbsp: '\u00a0' }
