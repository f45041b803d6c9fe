import type { ToolOutput, ToolResultContent } from '../../core/turn.ts'

/** What a call gave, for a model that reads nothing but text. */
interface TextResult {
  readonly name: string
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly output: ToolOutput
  readonly isError?: boolean
}

/** A model is shown so many characters of a result; the log keeps all. */
const mostResultCharacters = 32_000

/** The call itself stands above, so its parameters need not be whole. */
const mostParameterCharacters = 2000

/** A result as a block of text, with which a model finds again what it asked. */
export function resultText({ name, parameters = {}, output, isError = false }: TextResult): string {
  return [
    '<functions_result>',
    `Tool: ${harmless(name).replace(/\s+/g, ' ')}`,
    `Parameters: ${harmless(cut(JSON.stringify(parameters) ?? '{}', mostParameterCharacters))}`,
    `${isError ? 'Error' : 'Result'}: ${harmless(cut(outputText(output), mostResultCharacters))}`,
    '</functions_result>',
  ].join('\n')
}

/** The parts of an output that are no text. They follow the block. */
export function partsBeyondText(output: ToolOutput): Exclude<ToolResultContent, { type: 'text' }>[] {
  return Array.isArray(output) ? output.filter((part) => part.type !== 'text') : []
}

function outputText(output: ToolOutput): string {
  if (typeof output === 'string') return output
  if (!Array.isArray(output)) return JSON.stringify(output) ?? '' // from a log that nobody of ours wrote
  return (output as readonly ToolResultContent[]).map(partText).join('\n')
}

function partText(part: ToolResultContent): string {
  if (part.type === 'text') return part.text
  const name = part.type === 'document' && part.name !== undefined ? `${part.name}, ` : ''
  return `[${part.type}: ${name}${part.mediaType}, it follows]`
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  const shown = text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')
  return `${shown}\n[cut: these are the first ${most} of ${text.length} characters]`
}

/** A result cannot pretend to be over, or to be another one. */
const harmless = (text: string): string => text.replace(/<(?=[\s/]{0,20}functions_result)/gi, '&lt;')
