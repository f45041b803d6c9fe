import { headOf } from '../../core/text.ts'
import type { ToolOutput, ToolResultContent } from '../../core/turn.ts'

/** The result of a call, for a model that reads only text. */
interface TextResult {
  readonly name: string
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly output: ToolOutput
  readonly isError?: boolean
}

/** The characters of a result that a model sees; the log keeps all. */
const mostResultCharacters = 32_000

/** The whole parameters are in the call itself. */
const mostParameterCharacters = 2000

/** A result as a block of text that names its call. */
export function resultText({ name, parameters = {}, output, isError = false }: TextResult): string {
  return [
    '<functions_result>',
    `Tool: ${escapeTags(name).replace(/\s+/g, ' ')}`,
    `Parameters: ${escapeTags(cut(JSON.stringify(parameters) ?? '{}', mostParameterCharacters))}`,
    `${isError ? 'Error' : 'Result'}: ${escapeTags(cut(outputText(output), mostResultCharacters))}`,
    '</functions_result>',
  ].join('\n')
}

/** The images and documents of an output. They follow the block. */
export function partsBeyondText(output: ToolOutput): Exclude<ToolResultContent, { type: 'text' }>[] {
  return Array.isArray(output) ? output.filter((part) => part.type !== 'text') : []
}

function outputText(output: ToolOutput): string {
  if (typeof output === 'string') return output
  if (!Array.isArray(output)) return JSON.stringify(output) ?? '' // from a log of another program
  return (output as readonly ToolResultContent[]).map(partText).join('\n')
}

function partText(part: ToolResultContent): string {
  if (part.type === 'text') return part.text
  const name = part.type === 'document' && part.name !== undefined ? `${part.name}, ` : ''
  return `[${part.type}: ${name}${part.mediaType}, it follows]`
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text
  return `${headOf(text, most)}\n[cut: these are the first ${most} of ${text.length} characters]`
}

/** Escapes tags, so that a result cannot pretend to end, or to be another one. */
const escapeTags = (text: string): string => text.replace(/<(?=[\s/]{0,20}functions_result)/gi, '&lt;')
