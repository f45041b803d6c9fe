import type { ImageBlock } from '../../../core/turn.ts'
import { shownExactly } from './escape-html.ts'

/** Pictures only: an SVG is a document. */
const shown = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const mostCharacters = 8_000_000

/** A picture inside the page itself, or what it was where it cannot be one. */
export function imageHtml({ mediaType, data }: ImageBlock): string {
  const isPicture = shown.has(mediaType) && data.length <= mostCharacters && /^[A-Za-z0-9+/]+={0,2}$/.test(data)
  if (!isPicture) return `<p class="gone">[image ${shownExactly(mediaType)}, not shown]</p>\n`
  return `<p><img src="data:${mediaType};base64,${data}" alt="an image"></p>\n`
}
