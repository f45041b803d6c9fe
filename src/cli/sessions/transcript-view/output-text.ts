import type { ToolOutput } from '../../../core/turn.ts'

/** What a tool answered, as text. Its colours are left out: they are no content, and hide nothing by it. */
export function outputText(output: ToolOutput): string {
  if (typeof output === 'string') return output.replace(colours, '')
  return output
    .map((block) => (block.type === 'text' ? block.text.replace(colours, '') : `[${block.type} ${block.mediaType}]`))
    .join('\n')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
const colours = /\x1b\[[0-9;]*m/g
