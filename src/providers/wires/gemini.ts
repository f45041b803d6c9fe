import { memoize } from '../../core/memoize.ts'
import type { ModelRequest } from '../../core/provider.ts'
import { thinkingBudgets } from '../../core/thinking.ts'
import type { ToolSpec } from '../../core/tool.ts'
import type { DocumentBlock, ImageBlock, Message, ToolResultBlock } from '../../core/turn.ts'
import { adaptSchema } from '../adapt-schema.ts'
import { type Fields, RawJson, type Wire, type WireItem, type WireRules } from '../wire.ts'
import { GeminiDecoder, readError, type StoredData, serviceIdPrefix, wireName } from './gemini-decoder.ts'
import { mediaOf, providerDataOf } from './payload.ts'

/** Google's Gemini API, `streamGenerateContent`, for Gemini and Gemma. */
export function gemini(): Wire {
  return {
    name: wireName,
    rules,
    conversationField: 'contents',
    path: writePath,
    fields: writeFields,
    leadingItems: writeLead,
    writeMessage,
    decoder: ({ model }) => new GeminiDecoder({ signsCalls: traitsOf(model).isNew }),
    readError,
  }
}

const rules: WireRules = {
  // The service accepts any id, or none; only we tell calls apart by it.
  callId: { pattern: /^[\x21-\x7e]+$/, maxLength: 128 },
  toolName: { pattern: /^[a-zA-Z_][a-zA-Z0-9_.-]*$/, maxLength: 64 },
  imageTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  documentTypes: [
    'application/pdf',
    'text/plain',
    ...['wav', 'mp3', 'mpeg', 'aiff', 'aac', 'ogg', 'flac', 'mp4', 'm4a', 'webm'].map((type) => `audio/${type}`),
    ...['mp4', 'mpeg', 'quicktime', 'avi', 'x-flv', 'mpg', 'webm', 'wmv', '3gpp'].map((type) => `video/${type}`),
  ],
  // A whole request may have 20 MB.
  maxMediaLength: 18 * 1024 * 1024,
  maxImages: 3000,
  maxTotalMediaLength: 18 * 1024 * 1024,
  signedThinkingOnly: false,
  assistantImages: true,
  toolNameOnResults: true,
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
  // Older models accept a response schema or tools, not both.
  const hasSchema = outputSchema && typeof toolChoice !== 'object' && (isNew || tools.length === 0)
  return {
    ...(system !== '' && takesSystem && { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools.length > 0 && { tools: declarations(tools) }),
    ...(toolChoice && tools.length > 0 && { toolConfig: { functionCallingConfig: writeChoice(toolChoice) } }),
    generationConfig: {
      ...writeThinking(request),
      ...(hasSchema && {
        responseMimeType: 'application/json',
        responseJsonSchema: adaptSchema(outputSchema, 'gemini'),
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
          parametersJsonSchema: adaptSchema(inputSchema, 'gemini'),
        })),
      },
    ]),
)

const writeChoice = (choice: NonNullable<ModelRequest['toolChoice']>): object =>
  choice === 'none' ? { mode: 'NONE' } : { mode: 'ANY', allowedFunctionNames: [choice.name] }

/** Gemma has no field for the system prompt, so it becomes the first message. */
const writeLead = ({ model, system }: ModelRequest): readonly object[] =>
  system !== '' && !traitsOf(model).takesSystem ? [{ role: 'user', parts: [{ text: system }] }] : []

/** Thinking counts as output, so its budget is added to the token limit. */
function writeThinking({ model, thinking, thinkingBudget, maxTokens }: ModelRequest): Fields {
  const { levels, budgets } = traitsOf(model)
  const withBudget = (budget: number) => Math.max(maxTokens, Math.min(maxTokens + budget, maxOutput))
  const config = (maxOutputTokens: number, thinkingConfig: object): Fields => ({ maxOutputTokens, thinkingConfig })
  if (levels) {
    // These models cannot turn thinking off.
    if (thinking === 'off') return config(withBudget(thinkingBudgets[lowest(levels)]), { thinkingLevel: levels[0] })
    if (thinking === 'adaptive') return config(maxTokens, { includeThoughts: true })
    const thinkingLevel = nearest(thinking.toUpperCase() as Level, levels)
    return config(withBudget(thinkingBudget ?? thinkingBudgets[thinking]), { includeThoughts: true, thinkingLevel })
  }
  if (!budgets) return { maxOutputTokens: maxTokens }
  if (thinking === 'off') return config(withBudget(budgets.off), { thinkingBudget: budgets.off })
  if (thinking === 'adaptive') return config(maxTokens, { includeThoughts: true, thinkingBudget: -1 })
  const wanted = thinkingBudget ?? thinkingBudgets[thinking]
  const budget = Math.min(Math.max(wanted, budgets.min), budgets.max)
  return config(withBudget(budget), { includeThoughts: true, thinkingBudget: budget })
}

/** More is refused, or answered in several parts. */
const maxOutput = 65_536

const allLevels = ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'] as const
type Level = (typeof allLevels)[number]

const lowest = (levels: readonly Level[]) => levels[0]!.toLowerCase() as Lowercase<Level>

/** Of two levels at the same distance the higher one. */
function nearest(wanted: Level, levels: readonly Level[]): Level {
  const distance = (level: Level) => Math.abs(allLevels.indexOf(level) - allLevels.indexOf(wanted))
  return levels.reduce((best, level) => (distance(level) <= distance(best) ? level : best))
}

/** What a family of models accepts; other settings for thinking are refused with a 400. */
interface ModelTraits {
  readonly levels?: readonly Level[]
  /** In tokens; `off` is the minimum if thinking cannot be turned off. */
  readonly budgets?: { readonly off: number; readonly min: number; readonly max: number }
  /** Gemini 3 and later: signs the first call of every reply, and supports a response schema together with tools. */
  readonly isNew: boolean
  readonly takesSystem: boolean
}

const oldModel: ModelTraits = { isNew: false, takesSystem: true }
const budgeted = (off: number, min: number, max: number): ModelTraits => ({
  ...oldModel,
  budgets: { off, min, max },
})
const leveled = (...levels: readonly Level[]): ModelTraits => ({ levels, isNew: true, takesSystem: true })

/** The first match counts. An unknown model is treated as the newest, whose levels all models since Gemini 3 accept. */
const families: readonly (readonly [RegExp, ModelTraits])[] = [
  [/gemma-4/, { ...oldModel, takesSystem: false, levels: ['MINIMAL', 'HIGH'] }],
  [/gemma/, { ...oldModel, takesSystem: false }],
  [/^tunedmodels|gemini-(1|2[.-]0|pro(-vision)?$)|gemini-2.*(image|tts|audio|live)/, oldModel],
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
  families.find(([pattern]) => pattern.test(model.toLowerCase()))?.[1] ?? newest

/** Results get a content of their own: newer models refuse other parts beside them. */
function writeMessage({ role, content }: Message): readonly WireItem[] {
  const results = new Parts()
  const others = new Parts()
  let calls = 0
  for (const [i, block] of content.entries()) {
    switch (block.type) {
      case 'text': {
        const { block: raw, bound: forSameModel } = providerDataOf<StoredData>(wireName, block)
        if (raw) others.addRaw(i, raw, forSameModel?.thoughtSignature)
        else others.add(i, { text: block.text, ...signed(forSameModel?.thoughtSignature) })
        break
      }
      case 'thinking': {
        // The service only needs thinking that it signed.
        const { bound: forSameModel } = providerDataOf<StoredData>(wireName, block)
        const signature = forSameModel?.thoughtSignature
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
        const { bound: forSameModel } = providerDataOf<StoredData>(wireName, block)
        const needsSignature = calls++ === 0 && !forSameModel?.unsigned
        const signature = forSameModel?.thoughtSignature ?? (needsSignature ? foreignSignature : undefined)
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
          others.add(i, { text: `${kind} in result ${results.blockIndexes.length} (${name}):` })
          others.add(i, inline(media))
        }
      }
    }
  }
  return [results, others].flatMap(({ parts, blockIndexes }) =>
    parts.length === 0 ? [] : [{ json: { role: role === 'assistant' ? 'model' : 'user', parts }, blockIndexes }],
  )
}

/** Google's placeholder for a call that another model made, which has no signature. */
const foreignSignature = 'skip_thought_signature_validator'

const signed = (thoughtSignature: string | undefined): object => (thoughtSignature ? { thoughtSignature } : {})

const idOf = (id: string): object => (id.startsWith(serviceIdPrefix) ? { id: id.slice(serviceIdPrefix.length) } : {})

const inline = ({ mediaType, data }: ImageBlock | DocumentBlock): object => ({
  inlineData: { mimeType: mediaType, data },
})

function writeResult({ callId, output, isError }: ToolResultBlock, name: string): object {
  const lines =
    typeof output === 'string'
      ? [output]
      : output.map((part) => (part.type === 'text' ? part.text : shownBelow[part.type]))
  const text = lines.join('\n')
  return { functionResponse: { ...idOf(callId), name, response: isError ? { error: text } : { output: text } } }
}

const shownBelow = { image: '[an image, shown below]', document: '[a document, shown below]' }

/** The parts of one content, each with the index of the block from which it was made. */
class Parts {
  readonly parts: object[] = []
  readonly blockIndexes: number[] = []

  add(blockIndex: number, part: object): void {
    this.parts.push(part)
    this.blockIndexes.push(blockIndex)
  }

  /**
   * Adds a part that was stored as the service sent it (`StoredData.block`). An empty object was stored only for its signature, which
   * belongs to the image before it. A stored blank text exists only to carry a signature, so it is left out if the signature is gone.
   */
  addRaw(blockIndex: number, raw: object, signature: string | undefined): void {
    const isEmpty = Object.keys(raw).length === 0
    const last = this.parts.at(-1)
    if (!isEmpty && (signature || !('text' in raw))) this.add(blockIndex, { ...raw, ...signed(signature) })
    else if (isEmpty && last && 'inlineData' in last) Object.assign(last, signed(signature))
  }
}
