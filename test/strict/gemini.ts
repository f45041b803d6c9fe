import { type Content, checkContents, isNew } from './gemini-contents.ts'
import { checkFields, namePattern, refuse } from './gemini-refusal.ts'
import { isObject, type Json } from './refusal.ts'
import { sign } from './signatures.ts'
import { type Dialect, type Step, sse } from './strict-server.ts'

/** `streamGenerateContent`. */
export function strictGemini(): Dialect {
  return {
    refuse: (message) => refuse(message),
    accuse: (at) => refuse(`* GenerateContentRequest.${at}: this content could not be processed.`),
    items: ({ contents }) =>
      (contents as Content[]).map(({ parts }, i) => ({
        at: `contents[${i}]`,
        value: parts,
        parts: parts.map((value, j) => ({ at: `contents[${i}].parts[${j}]`, value })),
      })),
    isProbe: ({ generationConfig }) => Number((generationConfig as Json).maxOutputTokens) <= 1 + mostLeastThought,
    check({ path, headers, json }) {
      const model = modelIn(path)
      if (headers['x-goog-api-key'] === undefined)
        throw refuse('Method doesn’t allow unregistered callers.', 403, 'PERMISSION_DENIED')
      if (JSON.stringify(json).length > 20 * 1024 * 1024)
        throw refuse('Request payload size exceeds the limit: 20971520 bytes.')
      checkFields(json, ['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig'], '')
      checkSettings((json.generationConfig ?? {}) as Json, model)
      const names = checkTools(json.tools)
      checkChoice(json.toolConfig, names)
      checkContents(json.contents, model)
    },
    answer: ({ path, json }, step, n) => write(modelIn(path), json, step, n),
  }
}

/** The minimum budget of models that cannot turn thinking off. */
const mostLeastThought = 4096

function modelIn(path: string): string {
  const model = /^\/models\/([^/:]+):streamGenerateContent\?alt=sse$/.exec(path)?.[1]
  if (model === undefined) throw refuse('Requested entity was not found.', 404, 'NOT_FOUND')
  return decodeURIComponent(model)
}

/** Levels since Gemini 3, budgets before; no model accepts both. */
function checkSettings({ maxOutputTokens: room, thinkingConfig: thinking }: Json, model: string): void {
  if (room !== undefined && !((room as number) >= 1 && (room as number) <= 65_536))
    throw refuse(
      `* GenerateContentRequest.generation_config.max_output_tokens: must be in [1, 65536], got ${String(room)}.`,
    )
  if (!isObject(thinking)) return
  checkFields(thinking, ['includeThoughts', 'thinkingBudget', 'thinkingLevel'], 'generation_config.thinking_config')
  const { thinkingBudget: budget, thinkingLevel: level } = thinking
  if (budget !== undefined && level !== undefined)
    throw refuse('You can only set one of thinking budget and thinking level.')
  if (level !== undefined && !isNew(model)) throw refuse('Thinking level is not supported for this model.')
  if (budget !== undefined && !/gemini-2\.5/.test(model))
    throw refuse('Thinking budget is not supported for this model.')
  if (budget === 0 && /2\.5-pro/.test(model))
    throw refuse('Budget 0 is invalid. This model only works in thinking mode.')
}

function checkTools(tools: unknown): string[] {
  const declared = ((tools ?? []) as Json[]).flatMap(({ functionDeclarations }) => functionDeclarations as Json[])
  for (const [i, tool] of declared.entries()) {
    const at = `tools[0].function_declarations[${i}]`
    checkFields(tool, ['name', 'description', 'parameters', 'parametersJsonSchema'], at)
    if (!namePattern.test(String(tool.name)))
      throw refuse(
        `* GenerateContentRequest.${at}.name: Invalid function name. Must start with a letter or an underscore.`,
      )
    const schema = tool.parametersJsonSchema ?? tool.parameters
    if (tool.parametersJsonSchema !== undefined && tool.parameters !== undefined)
      throw refuse(`* GenerateContentRequest.${at}: parameters and parameters_json_schema must not both be set.`)
    if (schema !== undefined && (!isObject(schema) || schema.type !== 'object'))
      throw refuse(`* GenerateContentRequest.${at}.parameters: schema at top-level must be of type OBJECT`)
  }
  const names = declared.map(({ name }) => String(name))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw refuse(`Duplicate function declaration found: ${twice}`)
  return names
}

function checkChoice(config: unknown, names: readonly string[]): void {
  const { mode, allowedFunctionNames: allowed = [] } = ((config as Json)?.functionCallingConfig ?? {}) as Json
  const stray = (allowed as string[]).find((name) => !names.includes(name))
  if (stray !== undefined) throw refuse(`allowed_function_names contains '${stray}', which is not a declared function.`)
  if ((allowed as string[]).length > 0 && mode !== 'ANY') throw refuse('allowed_function_names requires mode ANY.')
}

function write(model: string, { generationConfig }: Json, { thinking, text, calls = [] }: Step, n: number): string {
  const parts: object[] = []
  if (thinking !== undefined) parts.push({ text: thinking, thought: true })
  if (text !== undefined) parts.push({ text })
  for (const [i, { name, input = {} }] of calls.entries()) {
    const isSigned = i === 0 && isNew(model)
    parts.push({
      functionCall: { name, args: input },
      ...(isSigned && { thoughtSignature: sign(model, `call ${name}`) }),
    })
  }
  const isCut = Number((generationConfig as Json).maxOutputTokens) <= 1 + mostLeastThought
  const frame = (content: readonly object[], more: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: content }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: isCut ? 1 : 3, totalTokenCount: 10 },
    modelVersion: model,
    responseId: `response-${n}`,
  })
  return sse([...parts.map((part) => frame([part])), frame([], { finishReason: isCut ? 'MAX_TOKENS' : 'STOP' })])
}
