/** Longer pages are cut, because they could take minutes. */
export const maxInputLength = 2 * 1024 * 1024

export interface ReadablePage {
  readonly title: string
  readonly text: string
}

const timeoutMs = 5_000

/**
 * The readable text of a page, with absolute links. Converted in its own thread, because a hostile page, even a short one, may
 * take minutes or all memory.
 */
export async function readableHtml(html: string, url: string, signal?: AbortSignal): Promise<ReadablePage> {
  const { runInWorker } = await import('../../platform/worker-threads.ts')
  try {
    const job: HtmlJob = { html: html.slice(0, maxInputLength), url }
    const code = () => new URL('./html-thread.ts', import.meta.url)
    return await runInWorker<ReadablePage>(code, job, { timeoutMs, ...(signal && { signal }) })
  } catch (error) {
    if (signal?.aborted) throw error
    return { title: titleOf(html), text: withoutTags(html) }
  }
}

export interface HtmlJob {
  readonly html: string
  readonly url: string
}

/** A simple fallback: removes tags in one pass. */
function withoutTags(page: string): string {
  const html = page.slice(0, maxInputLength)
  const parts: string[] = []
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at)
    if (open < 0) {
      parts.push(html.slice(at))
      break
    }
    parts.push(html.slice(at, open))
    const close = html.indexOf('>', open)
    if (close < 0) break
    at = close + 1
    const [, name] = /^<(script|style)\b/i.exec(html.slice(open, open + 8)) ?? []
    if (name) at = html.indexOf('<', at) < 0 ? html.length : html.indexOf('<', at)
  }
  const words = parts
    .join(' ')
    .split(/[ \t\r\f\v]+/)
    .join(' ')
  return words
    .split(/ ?\n[ \n]*/)
    .join('\n')
    .trim()
}

export function titleOf(html: string): string {
  const [, title = ''] = /<title[^>]{0,200}>([^<]{0,500})/i.exec(html.slice(0, 65_536)) ?? []
  return title.replace(/\s+/g, ' ').trim()
}
