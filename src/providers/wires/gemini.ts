import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { thinkingBudgets } from '../../core/thinking.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { DocumentBlock, ImageBlock, Message, ToolResultBlock } from '../../core/turn.ts'
import { lowerSchema } from '../lower-schema.ts'
import { type Fields, RawJson, type Wire, type WireItem, type WireRules } from '../wire.ts'
import { GeminiDecoder, type Own, ownId, readError, wireName } from './gemini-decoder.ts'
import { mediaOf, ownOf } from './payload.ts'

/** The Gemini API, `streamGenerateContent`, as Google speaks it for Gemini and Gemma. */
export function gemini(): Wire {
  return {
    name: wireName,
    rules,
    list: 'contents',
    path: writePath,
    fields: writeFields,
    lead: writeLead,
    items: writeMessage,
    decoder: ({ model }) => new GeminiDecoder({ signsCalls: traitsOf(model).isNew }),
    readError,
  }
}

const rules: WireRules = {
  // Ids are only told apart by us: the service takes any, or none.
  callId: { pattern: /^[\x21-\x7e]+$/, maxLength: 128 },
  toolName: { pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]*$/, maxLength: 64 },
  imageTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  documentTypes: [
    'application/pdf',
    'text/plain',
    ...['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac', 'mp4', 'm4a', 'webm'].map((type) => `audio/${type}`),
    ...['mp4', 'mpeg', 'quicktime', 'avi', 'x-flv', 'mpg', 'webm', 'wmv', '3gpp'].map((type) => `video/${type}`),
  ],
  // A request may be 20 MB long, everything else in it included.
  maxMediaLength: 18 * 1024 * 1024,
  maxImages: 3000,
  maxTotalMediaLength: 18 * 1024 * 1024,
  signedThinkingOnly: false,
  assistantImages: true,
  callNames: true,
  startsWithUser: true,
  endsWithUser: true,
}

function writePath({ model }: ModelRequest): string {
  const [, folder = 'models', name = model] = /^(models|tunedModels)\/(.+)$/s.exec(model) ?? []
  return `/${folder}/${encodeURIComponent(name)}:streamGenerateContent?alt=sse`
}

function writeFields(request: ModelRequest): Fields {
  const { model, system, tools, toolChoice, outputSchema } = request
  const { takesSystem, isNew } = traitsOf(model)
  // Models of before take a shape or tools, not both.
  const hasShape = outputSchema && typeof toolChoice !== 'object' && (isNew || tools.length === 0)
  return {
    ...(system !== '' && takesSystem && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length > 0 && { tools: declarations(tools) }),
    ...(toolChoice && tools.length > 0 && { toolConfig: { functionCallingConfig: writeChoice(toolChoice) } }),
    generationConfig: {
      ...writeThinking(request),
      ...(hasShape && {
        responseMimeType: 'application/json',
        responseJsonSchema: lowerSchema(outputSchema, 'gemini'),
      }),
    },
  }
}

const declarations = memoize(
  (tools: readonly ToolSpec[]) =>
    new RawJson([
      {
        functionDeclarations: tools.map(({ name, description, inputSchema }) => ({
          name,
          description,
          parametersJsonSchema: lowerSchema(inputSchema, 'gemini'),
        })),
      },
    ]),
)

const writeChoice = (choice: NonNullable<ModelRequest['toolChoice']>): object =>
  choice === 'none' ? { mode: 'NONE' } : { mode: 'ANY', allowedFunctionNames: [choice.name] }

/** Gemma has no place for instructions of its own: they come first. */
const writeLead = ({ model, system }: ModelRequest): readonly object[] =>
  system !== '' && !traitsOf(model).takesSystem ? [{ role: 'user', parts: [{ text: system }] }] : []

/** Thinking counts as output: the room for it comes on top of the room for the answer. */
function writeThinking({ model, thinking, thinkingBudget, maxTokens }: ModelRequest): Fields {
  const { levels, budgets } = traitsOf(model)
  const roomy = (room: number) => Math.max(maxTokens, Math.min(maxTokens + room, mostOutput))
  const config = (maxOutputTokens: number, thinkingConfig: object): Fields => ({ maxOutputTokens, thinkingConfig })
  if (levels) {
    // There is no way to turn it off.
    if (thinking === 'off') return config(roomy(thinkingBudgets[lowest(levels)]), { thinkingLevel: levels[0] })
    if (thinking === 'adaptive') return config(maxTokens, { includeThoughts: true })
    const thinkingLevel = nearest(thinking.toUpperCase() as Level, levels)
    return config(roomy(thinkingBudget ?? thinkingBudgets[thinking]), { includeThoughts: true, thinkingLevel })
  }
  if (!budgets) return { maxOutputTokens: maxTokens }
  if (thinking === 'off') return config(roomy(budgets.off), { thinkingBudget: budgets.off })
  if (thinking === 'adaptive') return config(maxTokens, { includeThoughts: true, thinkingBudget: -1 })
  const wanted = thinkingBudget ?? thinkingBudgets[thinking]
  const budget = Math.min(Math.max(wanted, budgets.least), budgets.most)
  return config(roomy(budget), { includeThoughts: true, thinkingBudget: budget })
}

/** More than this is refused, or answered in instalments. */
const mostOutput = 65_536

const allLevels = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
type Level = (typeof allLevels)[number]

const lowest = (levels: readonly Level[]) => levels[0]!.toLowerCase() as Lowercase<Level>

/** Of two that are as near, the higher one: too much thought is better than too little. */
function nearest(wanted: Level, levels: readonly Level[]): Level {
  const distance = (level: Level) => Math.abs(allLevels.indexOf(level) - allLevels.indexOf(wanted))
  return levels.reduce((best, level) => (distance(level) <= distance(best) ? level : best))
}

/** What a line of models takes; other ways to say how long to think are refused with a 400. */
interface ModelTraits {
  readonly levels?: readonly Level[]
  /** In tokens; `off` is the least there is where thinking cannot be turned off. */
  readonly budgets?: { readonly off: number; readonly least: number; readonly most: number }
  /** Since Gemini 3: signs the first call of every reply, and answers in a shape though it has tools. */
  readonly isNew: boolean
  readonly takesSystem: boolean
}

const before: ModelTraits = { isNew: false, takesSystem: true }
const budgeted = (off: number, least: number, most: number): ModelTraits => ({
  ...before,
  budgets: { off, least, most },
})
const leveled = (...levels: readonly Level[]): ModelTraits => ({ levels, isNew: true, takesSystem: true })

/** First match counts. What nobody knows is taken for the newest, whose levels all others since Gemini 3 know as well. */
const lines: readonly (readonly [RegExp, ModelTraits])[] = [
  [/gemma-4/, { ...before, takesSystem: false, levels: ['MINIMAL', 'HIGH'] }],
  [/gemma/, { ...before, takesSystem: false }],
  [/^tunedmodels|gemini-(1|2[.-]0|pro(-vision)?$)|gemini-2.*(image|tts|audio|live)/, before],
  [/gemini-2\.5-pro/, budgeted(128, 128, 32_768)],
  [/gemini-2\.5-flash-lite/, budgeted(0, 512, 24_576)],
  [/gemini-2|robotics-er-1/, budgeted(0, 1, 24_576)],
  [/gemini-3-pro-image/, leveled('HIGH')],
  [/gemini-3.*-image/, leveled('MINIMAL', 'HIGH')],
  [/gemini-3(\.0)?-pro/, leveled('LOW', 'HIGH')],
  [/gemini-3(\.[0-6])?-flash|flash-lite/, leveled(...allLevels)],
]
const newest = leveled('LOW', 'MEDIUM', 'HIGH')

const traitsOf = (model: string): ModelTraits =>
  lines.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1] ?? newest

/** Results stand in a content of their own: newer models refuse one in which anything else stands beside them. */
function writeMessage({ role, content }: Message): readonly WireItem[] {
  const results = new Parts()
  const others = new Parts()
  let calls = 0
  for (const [i, block] of content.entries()) {
    switch (block.type) {
      case 'text': {
        const { block: raw, bound } = ownOf<Own>(wireName, block)
        if (raw) others.addRaw(i, raw, bound?.thoughtSignature)
        else others.add(i, { text: block.text, ...signed(bound?.thoughtSignature) })
        break
      }
      case 'thinking': {
        // What was thought is not read again; only what was signed is asked for.
        const signature = ownOf<Own>(wireName, block).bound?.thoughtSignature
        if (signature) others.add(i, { text: block.text, thought: true, ...signed(signature) })
        break
      }
      case 'image':
        others.add(i, inline(block))
        break
      case 'document':
        if (block.name !== undefined) others.add(i, { text: `${block.name}:` })
        others.add(i, inline(block))
        break
      case 'tool_call': {
        const { bound } = ownOf<Own>(wireName, block)
        const needsSignature = calls++ === 0 && !bound?.unsigned
        const signature = bound?.thoughtSignature ?? (needsSignature ? foreignSignature : undefined)
        others.add(i, {
          functionCall: { ...idOf(block.id), name: block.name, args: block.input },
          ...signed(signature),
        })
        break
      }
      case 'tool_result': {
        const name = (block as { name?: string }).name ?? 'unknown'
        results.add(i, writeResult(block, name))
        for (const media of mediaOf(block)) {
          const kind = media.type === 'image' ? 'Image' : 'Document'
          others.add(i, { text: `${kind} in result ${results.blocks.length} (${name}):` })
          others.add(i, inline(media))
        }
      }
    }
  }
  return [results, others].flatMap(({ parts, blocks }) =>
    parts.length === 0 ? [] : [{ json: { role: role === 'assistant' ? 'model' : 'user', parts }, blocks }],
  )
}

/** What Google wants to see on a call that the model did not make itself, where there cannot be a signature. */
const foreignSignature = 'skip_thought_signature_validator'

const signed = (thoughtSignature: string | undefined): object => (thoughtSignature ? { thoughtSignature } : {})

const idOf = (id: string): object => (id.startsWith(ownId) ? { id: id.slice(ownId.length) } : {})

const inline = ({ mediaType, data }: ImageBlock | DocumentBlock): object => ({
  inlineData: { mimeType: mediaType, data },
})

function writeResult({ callId, output, isError }: ToolResultBlock, name: string): object {
  const lines =
    typeof output === 'string' ? [output] : output.map((part) => (part.type === 'text' ? part.text : below[part.type]))
  const text = lines.join('\n')
  return { functionResponse: { ...idOf(callId), name, response: isError ? { error: text } : { output: text } } }
}

const below = { image: '[an image, shown below]', document: '[a document, shown below]' }

/** The parts of one content, each with the block it was made of. */
class Parts {
  readonly parts: object[] = []
  readonly blocks: number[] = []

  add(block: number, part: object): void {
    this.parts.push(part)
    this.blocks.push(block)
  }

  /** What the service made. An empty one holds the signature of the image before it; one without a signature, nothing. */
  addRaw(block: number, raw: object, signature: string | undefined): void {
    const isEmpty = Object.keys(raw).length === 0
    const last = this.parts.at(-1)
    if (!isEmpty && (signature || !('text' in raw))) this.add(block, { ...raw, ...signed(signature) })
    else if (isEmpty && last && 'inlineData' in last) Object.assign(last, signed(signature))
  }
}
