import type { ToolOutput } from '../../../core/turn.ts'

/** The output of a tool as text, without colour sequences. */
export function outputText(output: ToolOutput): string {
  if (typeof output === 'string') return output.replace(colours, '')
  return output
    .map((block) => (block.type === 'text' ? block.text.replace(colours, '') : `[${block.type} ${block.mediaType}]`))
    .join('\n')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches colour sequences
const colours = /\x1b\[[0-9;]*m/g
