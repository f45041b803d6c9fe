import { fullyVisible } from '../../platform/visible-text.ts'
import type { Instructions } from './instructions.ts'

/** Instructions as one part of a system prompt: the same bytes for the same files, wherever they lie; empty where there are none. */
export function instructionsSection(instructions: readonly Instructions[]): string {
  return instructions.length === 0 ? '' : [opening, ...instructions.map(blockOf)].join('\n\n')
}

const opening =
  'These instructions come from files: those of the user first, then those of the project, from its root to where you are. Where two differ the later one counts; what the user asks for counts before all of them.'

function blockOf({ name, isOwn, text }: Instructions): string {
  const from = isOwn ? 'of="user"' : `path="${attribute(name)}"`
  return `<instructions ${from}>\n${text.replace(ownTag, '&lt;').trimEnd()}\n</instructions>`
}

/** A file must not be able to end its block and go on as another one. */
const ownTag = /<(?=\s*\/?\s*instructions)/gi

const attribute = (name: string): string =>
  fullyVisible(name).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
