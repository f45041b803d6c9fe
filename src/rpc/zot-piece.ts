import type { ZotFrame } from './frames.ts'
import type { Piece } from './write-lines.ts'

/** zot's frames that are pieces of one text: a slow reader gets fewer and longer ones. */
export function zotPiece(given: object): Piece | undefined {
  const frame = given as ZotFrame
  switch (frame.type) {
    case 'text_delta':
      return { key: frame.type, text: frame.delta, with: (delta) => ({ ...frame, delta }) }
    case 'tool_use_args':
      return { key: `${frame.type} ${frame.id}`, text: frame.delta, with: (delta) => ({ ...frame, delta }) }
    case 'tool_progress':
      return { key: `${frame.type} ${frame.id}`, text: frame.text, with: (text) => ({ ...frame, text }) }
    default:
      return undefined
  }
}
