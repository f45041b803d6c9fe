/**
 * Foreign Markdown made harmless for every renderer: it loads nothing, runs nothing and holds no HTML. Images become
 * links; tags, and links to anything but the web or mail, become text. Code is kept where every renderer agrees that
 * it is code; an open fence is closed or becomes text.
 */
export function harmlessMarkdown(text: string): string {
  const out: string[] = []
  let chunk: string[] = []
  let fence: string | undefined
  const flush = (): void => {
    out.push(...escapeChunk(chunk))
    chunk = []
  }
  const lines = text.trim().replace(/\r\n?/g, '\n').split('\n')
  let closed = -1
  for (const [i, line] of lines.entries()) {
    if (fence !== undefined) {
      out.push(line)
      if (isClosing(line, fence)) fence = undefined
      continue
    }
    fence = openingFence(line)
    if (fence !== undefined || line.trim() === '') {
      flush()
      out.push(line)
    } else if (i <= closed || !indentedFence.test(line)) chunk.push(line)
    else {
      closed = endOfIndented(lines, i)
      chunk.push(closed < 0 ? line.replace(/`{3,}|~{3,}/, inEntities) : line)
    }
  }
  flush()
  if (fence !== undefined) out.push(fence)
  return out.join('\n')
}

/** A fence without indentation, which cannot belong to a list or a quotation. */
function openingFence(line: string): string | undefined {
  return /^(`{3,})[^`]*$/.exec(line)?.[1] ?? /^(~{3,})/.exec(line)?.[1]
}

/** If it belongs to a list it ends with the list, else it may extend to the end of the text. */
const indentedFence = /^ {1,3}(?:`{3,}[^`]*|~{3,}.*)$/

/** Bounds the search for the end of each fence. */
const longestIndented = 500

/** The line that ends an indented fence for every renderer: no line before it may be indented less. -1 if renderers may disagree. */
function endOfIndented(lines: readonly string[], start: number): number {
  const [, indent = '', fence = ''] = /^( *)(`+|~+)/.exec(lines[start]!) ?? []
  for (let i = start + 1; i < Math.min(lines.length, start + longestIndented); i++) {
    const line = lines[i]!
    if (line.trim() !== '' && !line.startsWith(indent)) return -1
    if (isClosing(line, fence)) return i
  }
  return -1
}

const inEntities = (signs: string): string => Array.from(signs, (sign) => `&#${sign.charCodeAt(0)};`).join('')

function isClosing(line: string, fence: string): boolean {
  const found = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1]
  return found !== undefined && found[0] === fence[0] && found.length >= fence.length
}

/** Lines between two blank ones. Code spans are kept only if all of them begin and end on the same line. */
function escapeChunk(lines: readonly string[]): string[] {
  const spans = lines.map(codeSpans)
  const areClear = spans.every((one) => one !== undefined)
  return lines.map((line, i) => (areClear ? escapeOutside(line, spans[i]!) : escapeText(line)))
}

interface Span {
  readonly start: number
  readonly end: number
}

/** `undefined` if renderers may disagree: an open span, an escaped backtick, an indented line. */
function codeSpans(line: string): Span[] | undefined {
  if (line.includes('\\`') || /^(?: {4}|\t)/.test(line)) return undefined
  const runs = Array.from(line.matchAll(/`+/g), (match) => ({ at: match.index, length: match[0].length }))
  const spans: Span[] = []
  for (let i = 0; i < runs.length; i++) {
    const open = runs[i]!
    const close = runs.findIndex((run, n) => n > i && run.length === open.length)
    if (close < 0) return undefined
    const end = runs[close]!.at + open.length
    if (!isUnambiguousCode(line.slice(0, open.at), line.slice(open.at, end))) return undefined
    spans.push({ start: open.at, end })
    i = close
  }
  return spans
}

/** Some renderers look for tables, links and bare addresses first. */
function isUnambiguousCode(before: string, code: string): boolean {
  return !/[<!]/.test(code) || (/(?:^|\s)[("'*_]{0,3}$/.test(before) && !/[|[\]]/.test(code))
}

function escapeOutside(line: string, spans: readonly Span[]): string {
  let out = ''
  let at = 0
  for (const { start, end } of spans) {
    out += escapeText(line.slice(at, start)) + line.slice(start, end)
    at = end
  }
  return out + escapeText(line.slice(at))
}

/** Escapes with entities, which no renderer takes for syntax; a backslash could end a bare address before it. */
function escapeText(text: string): string {
  return text
    .replace(/!\[/g, '&#33;[')
    .replace(/<(?!(?:https?:\/\/|mailto:)[^\s<>\\`]*>)/g, '&lt;')
    .replace(/\](\(|:)(\s*)([^\s)>]*)/g, (link, sign: string, _, target: string) =>
      isHarmlessTarget(target) ? link : link.replace(`]${sign}`, `]${sign === ':' ? '&#58;' : '&#40;'}`),
    )
}

/** A web address, a mail address or a relative path. A target with entities, or on the next line, could be anything. */
function isHarmlessTarget(target: string): boolean {
  return /^(?:https?:\/\/|mailto:)/i.test(target) || /^[^:&\\]+$/.test(target)
}
