import { checkFields, namePattern, refuse } from './gemini-refusal.ts'
import { isBase64, typeOf } from './media.ts'
import { isObject, type Json } from './refusal.ts'
import { verify } from './signatures.ts'

/** Models that sign their calls, and take a thinking level. */
export const isNew = (model: string): boolean => /gemini-[3-9]/.test(model)

export interface Content {
  readonly role: string
  readonly parts: readonly Json[]
}

/** Checks roles and order, then every part. */
export function checkContents(given: unknown, model: string): void {
  if (!Array.isArray(given) || given.length === 0)
    throw refuse('* GenerateContentRequest.contents: contents is not specified')
  const contents = given as readonly Content[]
  for (const [i, content] of contents.entries()) {
    const at = `contents[${i}]`
    checkFields(content as unknown as Json, ['role', 'parts'], at)
    if (content.role !== 'user' && content.role !== 'model') throw refuse('Please use a valid role: user, model.')
    if (!Array.isArray(content.parts) || content.parts.length === 0)
      throw refuse(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.`)
    for (const [j, part] of content.parts.entries()) checkPart(part, content.role, `${at}.parts[${j}]`, model)
  }
  if (contents[0]!.role !== 'user') throw refuse('Please ensure that multiturn requests start with a user turn.')
  if (contents.at(-1)!.role !== 'user')
    throw refuse('Please ensure that single turn requests end with a user role or the role field is empty.')
  for (const i of contents.keys()) checkTurn(contents, i, model)
  checkSignatures(contents, model)
}

const kinds = [
  'text',
  'inlineData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
] as const

function checkPart(part: Json, role: string, at: string, model: string): void {
  checkFields(part, [...kinds, 'thought', 'thoughtSignature'], at)
  const [kind, ...more] = kinds.filter((name) => part[name] !== undefined)
  const isEmpty = kind === undefined || (kind === 'text' && part.text === '' && part.thoughtSignature === undefined)
  if (isEmpty || more.length > 0)
    throw refuse(`* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`)
  if (part.thoughtSignature !== undefined) checkSignature(part, model)
  const { text, inlineData, functionCall, functionResponse } = part
  if (kind === 'text' && typeof text !== 'string') throw refuse(`Invalid value at '${at}.text' (TYPE_STRING)`)
  if (isObject(inlineData)) checkMedia(inlineData, at)
  if (functionCall !== undefined) {
    const { name, args } = functionCall as Json
    checkFields(functionCall as Json, ['id', 'name', 'args'], `${at}.function_call`)
    if (role !== 'model') throw refuse('Please ensure that function call turn has the role model.')
    if (!namePattern.test(String(name)))
      throw refuse(`* GenerateContentRequest.${at}.function_call.name: Invalid function name.`)
    if (!isObject(args))
      throw refuse(`Invalid value at '${at}.function_call.args' (type.googleapis.com/google.protobuf.Struct)`)
  }
  if (functionResponse !== undefined) {
    const { name, response } = functionResponse as Json
    checkFields(functionResponse as Json, ['id', 'name', 'response', 'parts'], `${at}.function_response`)
    if (role !== 'user') throw refuse('Please ensure that function response turn has the role user.')
    if (!namePattern.test(String(name)))
      throw refuse(`* GenerateContentRequest.${at}.function_response.name: Name cannot be empty.`)
    if (!isObject(response))
      throw refuse(`Invalid value at '${at}.function_response.response' (type.googleapis.com/google.protobuf.Struct)`)
  }
}

const dummySignature = 'skip_thought_signature_validator'

function checkSignature({ thoughtSignature: signature, functionCall }: Json, model: string): void {
  if (signature === dummySignature) return
  const signed = functionCall === undefined ? 'text' : `call ${String((functionCall as Json).name)}`
  if (verify(model, signed, signature) !== 'good') throw refuse('Invalid thought signature.')
}

const takenTypes = /^(image\/(png|jpeg|webp|heic|heif)|application\/pdf|text\/plain|audio\/\w+|video\/[\w-]+)$/

function checkMedia({ mimeType, data }: Json, at: string): void {
  if (!isBase64(data))
    throw refuse(
      `Invalid value at '${at}.inline_data.data' (TYPE_BYTES), Base64 decoding failed for "${String(data).slice(0, 8)}"`,
    )
  if (!takenTypes.test(String(mimeType))) throw refuse(`Unsupported MIME type: ${String(mimeType)} at ${at}`)
  const isLookedAt = /^(image\/(png|jpeg|webp)|application\/pdf)$/.test(String(mimeType))
  if (isLookedAt && typeOf(data) !== mimeType) throw refuse(`Unable to process input image at ${at}. Please retry.`)
}

const callsIn = (content: Content | undefined): Json[] =>
  content?.parts.flatMap(({ functionCall }) => (functionCall ? [functionCall as Json] : [])) ?? []
const responsesIn = (content: Content | undefined): Json[] =>
  content?.parts.flatMap(({ functionResponse }) => (functionResponse ? [functionResponse as Json] : [])) ?? []

function checkTurn(contents: readonly Content[], i: number, model: string): void {
  const content = contents[i]!
  const before = contents[i - 1]
  const calls = callsIn(content)
  const responses = responsesIn(content)
  if (content.role === 'model' && before?.role === 'model')
    throw refuse(
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    )
  if (responses.length > 0 && callsIn(before).length === 0)
    throw refuse('Please ensure that function response turn comes immediately after a function call turn.')
  if (responses.length > 0 && isNew(model) && responses.length !== content.parts.length)
    throw refuse('Please ensure that a function response turn holds function responses only.')
  if (calls.length === 0) return
  const answers = responsesIn(contents[i + 1])
  const isMatched =
    answers.length === calls.length &&
    calls.every(({ name, id }, j) => answers[j]!.name === name && answers[j]!.id === id)
  if (!isMatched)
    throw refuse(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    )
}

/** Since Gemini 3 the first call of every step of the current turn must be signed. */
function checkSignatures(contents: readonly Content[], model: string): void {
  if (!isNew(model)) return
  const present = contents.findLastIndex((content) => content.role === 'user' && responsesIn(content).length === 0)
  for (const [i, content] of contents.entries()) {
    const first = content.parts.find(({ functionCall }) => functionCall)
    if (i > present && first && first.thoughtSignature === undefined)
      throw refuse(
        `Function call \`${String((first.functionCall as Json).name)}\` in the ${i}. content block is missing a \`thought_signature\`.`,
      )
  }
}
