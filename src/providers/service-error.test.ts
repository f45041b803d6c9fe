import { describe, expect, test } from 'vitest'
import { type Family, families } from '../../test/faults/fault-streams.ts'
import type { ClassifiedError, ModelRequest, Provider } from '../core/provider.ts'
import type { Message } from '../core/turn.ts'
import type { HttpResponse, Transport } from '../platform/http.ts'
import type { ServiceOptions } from './service.ts'
import { classifyServiceError, positionIn, readServiceError, ServiceError, scrubber } from './service-error.ts'
import { anthropic } from './services/anthropic.ts'
import { google } from './services/google.ts'
import { openai } from './services/openai.ts'
import { openaiCompat } from './services/openai-compat.ts'
import { openrouter } from './services/openrouter.ts'
import { StreamError } from './wire.ts'
import { anthropicMessages } from './wires/anthropic-messages.ts'
import { gemini } from './wires/gemini.ts'
import { openaiChat } from './wires/openai-chat.ts'
import { openaiResponses } from './wires/openai-responses.ts'

const wires = { anthropic: anthropicMessages(), chat: openaiChat(), responses: openaiResponses(), gemini: gemini() }
type WireName = keyof typeof wires

function response(status: number, body: string, headers: Record<string, string> = {}): HttpResponse {
  const bytes = new TextEncoder().encode(body)
  return {
    status,
    headers,
    body: (async function* () {
      for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
    })(),
  }
}

const read = (wire: WireName, status: number, body: unknown, headers?: Record<string, string>, secret?: string) =>
  readServiceError(response(status, typeof body === 'string' ? body : JSON.stringify(body), headers), wires[wire], {
    now: Date.parse('Sat, 15 Nov 2025 12:00:00 GMT'),
    scrub: scrubber(secret === undefined ? [] : [secret]),
  })

async function classified(...args: Parameters<typeof read>): Promise<ClassifiedError> {
  return classifyServiceError(await read(...args))!
}

const ofAnthropic = (type: string, message: string, details?: object) => ({
  type: 'error',
  error: { type, message, ...(details && { details }) },
  request_id: 'req_1',
})
const ofOpenAI = (
  message: string,
  { type = 'invalid_request_error', param = null as string | null, code = null as string | null } = {},
) => ({
  error: { message, type, param, code },
})
const ofGoogle = (code: number, status: string, message: string, details: object[] = []) => ({
  error: { code, message, status, details },
})

type Row = readonly [what: string, wire: WireName, status: number, body: unknown, expected: Partial<ClassifiedError>]

describe('what each vendor says is called by its name', () => {
  const tooLong = { kind: 'context_exceeded', retryable: false } as const
  const noMoney = { kind: 'quota_exceeded', retryable: false } as const
  const badKey = { kind: 'auth_failed', retryable: false } as const
  const slowDown = { kind: 'rate_limited', retryable: true } as const
  const passing = { kind: 'provider_error', retryable: true } as const
  const final = { kind: 'provider_error', retryable: false } as const
  const rows: readonly Row[] = [
    [
      'a prompt too long',
      'anthropic',
      400,
      ofAnthropic('invalid_request_error', 'prompt is too long: 213462 tokens > 200000 maximum'),
      tooLong,
    ],
    [
      'no room for the answer',
      'anthropic',
      400,
      ofAnthropic(
        'invalid_request_error',
        'input length and `max_tokens` exceed context limit: 190012 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      ),
      tooLong,
    ],
    [
      'too many bytes',
      'anthropic',
      413,
      ofAnthropic('request_too_large', 'Request exceeds the maximum size'),
      { ...tooLong, providerCode: 'request_too_large' },
    ],
    [
      'too many bytes, said by a proxy',
      'anthropic',
      413,
      '<html><h1>413 Request Entity Too Large</h1></html>',
      tooLong,
    ],
    [
      'a rate limit',
      'anthropic',
      429,
      ofAnthropic(
        'rate_limit_error',
        'This request would exceed your organization’s rate limit of 40,000 input tokens per minute',
      ),
      { ...slowDown, providerCode: 'rate_limit_error' },
    ],
    [
      'an empty purse',
      'anthropic',
      400,
      ofAnthropic(
        'invalid_request_error',
        'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      ),
      noMoney,
    ],
    [
      'a limit of one’s own',
      'anthropic',
      400,
      ofAnthropic(
        'invalid_request_error',
        'You have reached your specified API usage limits. You will regain access on 2026-01-01 at 00:00 UTC.',
      ),
      noMoney,
    ],
    ['a bill', 'anthropic', 403, ofAnthropic('billing_error', 'Payment required'), noMoney],
    [
      'a limit that is enforced',
      'anthropic',
      429,
      ofAnthropic('rate_limit_error', 'Spend limit', { error_code: 'enforced_spend_limit_reached' }),
      { ...noMoney, providerCode: 'enforced_spend_limit_reached' },
    ],
    [
      'a wrong key',
      'anthropic',
      401,
      ofAnthropic('authentication_error', 'invalid x-api-key'),
      { ...badKey, providerCode: 'authentication_error' },
    ],
    [
      'a right that is missing',
      'anthropic',
      403,
      ofAnthropic('permission_error', 'Your API key does not have permission'),
      badKey,
    ],
    ['no such model', 'anthropic', 404, ofAnthropic('not_found_error', 'model: claude-9'), final],
    [
      'overload',
      'anthropic',
      529,
      ofAnthropic('overloaded_error', 'Overloaded'),
      { ...passing, providerCode: 'overloaded_error' },
    ],
    ['a conflict', 'anthropic', 409, ofAnthropic('conflict_error', 'Try again'), passing],
    ['a slow gateway', 'anthropic', 504, ofAnthropic('timeout_error', 'Timed out'), passing],

    [
      'a prompt too long',
      'chat',
      400,
      ofOpenAI(
        'This model’s maximum context length is 128000 tokens. However, your messages resulted in 130215 tokens.',
        { param: 'messages', code: 'context_length_exceeded' },
      ),
      { ...tooLong, providerCode: 'context_length_exceeded' },
    ],
    [
      'a request larger than a minute',
      'chat',
      429,
      ofOpenAI(
        'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41250.',
        { type: 'tokens', code: 'rate_limit_exceeded' },
      ),
      tooLong,
    ],
    [
      'a rate limit',
      'chat',
      429,
      ofOpenAI(
        'Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.',
        { type: 'requests', code: 'rate_limit_exceeded' },
      ),
      slowDown,
    ],
    [
      'a quota',
      'chat',
      429,
      ofOpenAI('You exceeded your current quota, please check your plan and billing details.', {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      }),
      noMoney,
    ],
    [
      'OpenRouter’s empty purse',
      'chat',
      402,
      { error: { code: 402, message: 'Insufficient credits. Add more using https://openrouter.ai/settings/credits' } },
      noMoney,
    ],
    [
      'DeepSeek’s empty purse',
      'chat',
      402,
      { error: { message: 'Insufficient Balance', type: 'unknown_error', param: null, code: 'invalid_request_error' } },
      noMoney,
    ],
    [
      'a wrong key',
      'chat',
      401,
      ofOpenAI('Incorrect API key provided: sk-abc***xyz.', { code: 'invalid_api_key' }),
      { ...badKey, providerCode: 'invalid_api_key' },
    ],
    [
      'no such model',
      'chat',
      404,
      ofOpenAI('The model `gpt-9` does not exist or you do not have access to it.', { code: 'model_not_found' }),
      final,
    ],
    [
      'Groq’s miswritten call',
      'chat',
      400,
      {
        error: {
          message: 'Failed to call a function.',
          type: 'invalid_request_error',
          code: 'tool_use_failed',
          failed_generation: '<function=x',
        },
      },
      passing,
    ],
    [
      'Groq’s prompt too long',
      'chat',
      400,
      ofOpenAI(
        'Please reduce the length of the messages or completion. Current length is 131205 while limit is 131072',
      ),
      tooLong,
    ],
    [
      'xAI’s prompt too long',
      'chat',
      400,
      {
        code: 'Client specified an invalid argument',
        error: 'This model’s maximum prompt length is 131072 but the request contains 150011 tokens.',
      },
      tooLong,
    ],
    [
      'Together’s prompt too long',
      'chat',
      422,
      { error: { message: "The input (140020 tokens) is longer than the model's context length (131072 tokens)." } },
      tooLong,
    ],
    [
      'Mistral’s prompt too long',
      'chat',
      400,
      {
        object: 'error',
        message: 'Prompt contains 40112 tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_prompt',
      },
      tooLong,
    ],
    [
      'llama.cpp’s prompt too long',
      'chat',
      400,
      {
        error: {
          code: 400,
          message: 'the request exceeds the available context size (8192 tokens), try increasing it',
          type: 'exceed_context_size_error',
        },
      },
      tooLong,
    ],
    [
      'LM Studio’s prompt too long',
      'chat',
      400,
      {
        error: 'The number of tokens to keep from the initial prompt is greater than the context length (4096 tokens)',
      },
      tooLong,
    ],
    [
      'Ollama’s prompt too long',
      'chat',
      400,
      { error: { message: 'prompt too long; exceeded max context length by 512 tokens' } },
      tooLong,
    ],
    [
      'Kimi’s prompt too long',
      'chat',
      400,
      {
        error: {
          message: 'Invalid request: Your request exceeded model token limit: 131072',
          type: 'invalid_request_error',
        },
      },
      tooLong,
    ],
    [
      'DashScope’s prompt too long',
      'chat',
      400,
      { error: { message: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]' } },
      tooLong,
    ],
    ['Cerebras’ request too large, without a word', 'chat', 413, '', tooLong],
    [
      'a page of Cloudflare’s',
      'chat',
      502,
      '<!DOCTYPE html><html><head><title>502</title></head></html>',
      { ...passing, message: 'HTTP 502: an HTML page', providerCode: '502' },
    ],
    ['nothing', 'chat', 500, '', { ...passing, message: 'HTTP 500' }],
    ['plain text', 'chat', 503, 'upstream connect error', { ...passing, message: 'HTTP 503: upstream connect error' }],

    [
      'a prompt too long',
      'responses',
      400,
      ofOpenAI('Your input exceeds the context window of this model. Please adjust your input and try again.', {
        param: 'input',
        code: 'context_length_exceeded',
      }),
      tooLong,
    ],
    [
      'a quota',
      'responses',
      429,
      ofOpenAI('You exceeded your current quota.', { type: 'insufficient_quota', code: 'insufficient_quota' }),
      noMoney,
    ],
    [
      'the end of a plan',
      'responses',
      429,
      {
        error: {
          type: 'usage_limit_reached',
          message: 'The usage limit has been reached',
          plan_type: 'plus',
          resets_in_seconds: 900,
        },
      },
      { ...noMoney, retryAfterMs: 900_000 },
    ],
    [
      'a rate limit',
      'responses',
      429,
      ofOpenAI('Rate limit reached', { type: 'requests', code: 'rate_limit_exceeded' }),
      slowDown,
    ],
    ['a wrong token', 'responses', 401, { detail: 'Unauthorized' }, badKey],
    [
      'an outage',
      'responses',
      500,
      ofOpenAI('The server had an error', { type: 'server_error' }),
      { ...passing, providerCode: 'server_error' },
    ],

    [
      'a prompt too long',
      'gemini',
      400,
      ofGoogle(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1201540) exceeds the maximum number of tokens allowed (1048576).',
      ),
      tooLong,
    ],
    [
      'a rate limit',
      'gemini',
      429,
      ofGoogle(
        429,
        'RESOURCE_EXHAUSTED',
        'You exceeded your current quota, please check your plan and billing details.',
        [
          {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel-FreeTier' }],
          },
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' },
        ],
      ),
      { ...slowDown, retryAfterMs: 34_000 },
    ],
    [
      'the end of a day',
      'gemini',
      429,
      ofGoogle(429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota', [
        { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] },
        { retryDelay: '34s' },
      ]),
      noMoney,
    ],
    [
      'a wrong key',
      'gemini',
      400,
      ofGoogle(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
      ]),
      badKey,
    ],
    [
      'no right',
      'gemini',
      403,
      ofGoogle(403, 'PERMISSION_DENIED', 'Method doesn’t allow unregistered callers'),
      badKey,
    ],
    [
      'overload',
      'gemini',
      503,
      ofGoogle(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
      { ...passing, providerCode: 'UNAVAILABLE' },
    ],
    [
      'an error in a list',
      'gemini',
      500,
      [ofGoogle(500, 'INTERNAL', 'Internal error encountered.')],
      { ...passing, providerCode: 'INTERNAL' },
    ],
  ]
  test.each(rows)('%s (%s, %i)', async (_, wire, status, body, expected) => {
    const result = await classified(wire, status, body)
    expect(result).toMatchObject(expected)
    expect(result).not.toHaveProperty('refused')
  })
})

describe('what the service says about trying again', () => {
  const busy = ofAnthropic('overloaded_error', 'Overloaded')
  test.each([
    [{ 'x-should-retry': 'false' }, 529, { retryable: false }],
    [{ 'x-should-retry': 'true' }, 400, { retryable: true }],
    [{ 'x-should-retry': 'false' }, 429, { kind: 'rate_limited', retryable: false }],
    [{ 'x-should-retry': 'perhaps' }, 529, { retryable: true }],
    [{ 'retry-after': '7' }, 429, { retryAfterMs: 7000 }],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 429, { retryAfterMs: 250 }],
    [{ 'retry-after': 'Sat, 15 Nov 2025 12:00:30 GMT' }, 503, { retryAfterMs: 30_000 }],
  ])('is believed: %j with %i', async (headers, status, expected) => {
    expect(await classified('anthropic', status, busy, headers as unknown as Record<string, string>)).toMatchObject(
      expected,
    )
  })

  test.each(['abc', '-5', 'Sat, 15 Nov 2025 11:00:00 GMT', ''])(
    'is not believed where it makes no sense: %j',
    async (after) => {
      expect(await classified('anthropic', 429, busy, { 'retry-after': after })).not.toHaveProperty('retryAfterMs')
    },
  )

  test('a header beats the body', async () => {
    const body = ofGoogle(429, 'RESOURCE_EXHAUSTED', 'Slow down', [{ retryDelay: '34s' }])
    expect(await classified('gemini', 429, body, { 'retry-after': '3' })).toMatchObject({ retryAfterMs: 3000 })
  })
})

describe('a body', () => {
  test.each([
    ['<html>…', 'an HTML page'],
    ['\n  <!DOCTYPE html><p>secret markup', 'an HTML page'],
    ['<center>nginx</center>', 'an HTML page'],
    ['<?xml version="1.0"?>', 'an HTML page'],
    ['not {json', 'not {json'],
  ])('that is no JSON is shortened: %j', async (body, said) => {
    expect((await read('chat', 502, body)).message).toBe(`HTTP 502: ${said}`)
  })

  test('FP-33 of any length is cut to 2 KB, and never ends in half a character', async () => {
    for (let shift = 0; shift < 4; shift++) {
      const said = `${'x'.repeat(2040 + shift)}${'🌍'.repeat(100)}`
      for (const body of [said, ofAnthropic('api_error', said)]) {
        const { message } = await read('anthropic', 500, body)
        expect(message.length).toBeLessThan(2070)
        expect(message.isWellFormed()).toBe(true)
        expect(message).not.toContain('\uFFFD')
      }
    }
  })

  test('that repeats the whole request is still understood, up to a megabyte', async () => {
    const body = {
      ...ofAnthropic('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
      request: 'x'.repeat(300_000),
    }
    expect(await classified('anthropic', 400, body)).toMatchObject({
      kind: 'context_exceeded',
      providerCode: 'invalid_request_error',
    })
  })

  test('without an end is not read to it', async () => {
    let sent = 0
    const endless = (async function* () {
      for (;;) {
        sent++
        yield new Uint8Array(100_000).fill(120)
      }
    })()
    const error = await readServiceError({ status: 500, headers: {}, body: endless }, wires.chat, {
      now: 0,
      scrub: (text) => text,
    })
    expect(error.message).toHaveLength(2048 + 'HTTP 500: '.length)
    expect(sent).toBeLessThan(15)
  })

  test('that breaks off is shown as far as it came', async () => {
    const broken = (async function* () {
      yield new TextEncoder().encode('the beginning')
      throw new Error('ECONNRESET')
    })()
    const error = await readServiceError({ status: 500, headers: {}, body: broken }, wires.chat, {
      now: 0,
      scrub: (text) => text,
    })
    expect(error.message).toBe('HTTP 500: the beginning')
  })
})

describe('a key that a service repeats', () => {
  const secret = 'canary+key/with=odd.chars'
  test.each([
    ['itself', `invalid x-api-key: ${secret}`],
    ['a header', `Authorization: Bearer ${secret} is not valid`],
    ['another token of that kind', 'Authorization: Bearer abcdef.123456-xyz'],
    ['another key', 'Incorrect API key provided: sk-proj-abcdefghijklmnop'],
    ['Google’s', 'API key AIzaSyA1234567890abcdefghijklmno not valid'],
    ['in an address', 'GET https://host/v1?alt=sse&key=abcdefgh12345678 failed'],
    ['a JWT', 'token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N'],
    ['a header of one’s own', '{"x-api-key":"abcdefgh12345678"}'],
  ])('is taken out: %s', async (_, said) => {
    for (const body of [said, ofAnthropic('authentication_error', said), ofAnthropic(said, 'no')]) {
      const { message, code = '' } = await read('anthropic', 401, body, {}, secret)
      expect(`${message} ${code}`).toContain('[secret]')
      expect(`${message} ${code}`).not.toMatch(/canary|odd\.chars|abcdef|AIzaSy|eyJ|12345678/)
    }
  })

  test('is not looked for in every word when it is hardly one', async () => {
    const { message } = await read('chat', 400, 'maximum context length', {}, 'x')
    expect(message).toBe('HTTP 400: maximum context length')
  })

  test('is taken out before the text is cut, not half of it', async () => {
    for (let shift = 0; shift < 30; shift++) {
      const { message } = await read('chat', 500, `${'x'.repeat(2048 - shift)}${secret}`, {}, secret)
      expect(message).not.toContain('canary'.slice(0, 4))
    }
  })
})

describe('no answer at all', () => {
  test.each([
    'ECONNRESET',
    'ECONNREFUSED',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EPIPE',
    'EPROTO',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'HPE_INVALID_CONSTANT',
    'ConnectionRefused',
  ])('FP-09 is worth another try: %s', (code) => {
    const error = Object.assign(new Error(`No answer from host: ${code}`), { code })
    const expected = { kind: 'provider_error', providerCode: code, retryable: true }
    expect(classifyServiceError(error)).toEqual({ ...expected, message: error.message })
    expect(classifyServiceError(new TypeError('fetch failed', { cause: error }))).toEqual({
      ...expected,
      message: 'fetch failed',
    })
  })

  test.each([
    new Error('x'),
    Object.assign(new Error('x'), { code: 'ERR_INVALID_URL' }),
    undefined,
    null,
    'ECONNRESET',
    7,
  ])('is not what others threw: %o', (error) => {
    expect(classifyServiceError(error)).toBeNull()
  })

  test('is an abort if the caller aborted', () => {
    expect(classifyServiceError(new DOMException('x', 'AbortError'))).toEqual({ kind: 'aborted' })
  })
})

describe('an error inside a stream', () => {
  test.each([
    [
      { code: 'overloaded_error', status: 529 },
      { kind: 'provider_error', retryable: true, providerCode: 'overloaded_error' },
    ],
    [
      { code: 'rate_limit_error', status: 429 },
      { kind: 'rate_limited', retryable: true },
    ],
    [
      { code: 'context_length_exceeded', status: 400, retryable: false },
      { kind: 'context_exceeded', retryable: false },
    ],
    [
      { code: 'billing', status: 402, retryable: false },
      { kind: 'quota_exceeded', retryable: false },
    ],
    [
      { code: 'authentication_error', status: 401, retryable: false },
      { kind: 'auth_failed', retryable: false },
    ],
    [{ code: 'stream_cut' }, { kind: 'provider_error', retryable: true, providerCode: 'stream_cut' }],
    [
      { code: 'invalid_prompt', status: 400, retryable: false },
      { kind: 'provider_error', retryable: false, refused: {} },
    ],
  ])('FP-18 is what it would have been outside: %j', (options, expected) => {
    expect(classifyServiceError(new StreamError('it failed', options))).toMatchObject(expected)
  })
})

describe('what a service will not read', () => {
  const places: readonly (readonly [string, object])[] = [
    ['messages.3.content.1.image.source.base64: invalid base64 data', { item: 3, list: 'content', part: 1 }],
    ['messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1', { item: 2 }],
    ['messages.1.content.0.tool_result.content.2.text: too long', { item: 1, list: 'content', part: 0 }],
    ['messages.4.content: Input should be a valid list', { item: 4, list: 'content' }],
    ["Invalid 'messages[2].content[0].text': string too long", { item: 2, list: 'content', part: 0 }],
    ["Invalid parameter: messages with role 'tool' must be a response | messages.[5].role", { item: 5 }],
    ["Invalid type for 'messages[1].tool_calls[2].function.arguments'", { item: 1, list: 'tool_calls', part: 2 }],
    ["'messages.1' : for 'role:assistant' the following must be satisfied", { item: 1 }],
    ['body.messages.6.content: Extra inputs are not permitted', { item: 6, list: 'content' }],
    ['body -> messages -> 2 -> content -> 1: invalid', { item: 2, list: 'content', part: 1 }],
    [
      'Failed to deserialize the JSON body into the target type: messages[1]: missing field `content` at line 1 column 520',
      { item: 1 },
    ],
    ["Invalid 'input[12].content[3].image_url': not a data URL", { item: 12, list: 'content', part: 3 }],
    ["Invalid 'input[3].id': 'x'. Expected an ID that begins with 'fc'.", { item: 3 }],
    [
      '* GenerateContentRequest.contents[4].parts[1].inline_data.mime_type: unsupported',
      { item: 4, list: 'parts', part: 1 },
    ],
    ["Invalid value at 'contents[10].parts[0]' (oneof)", { item: 10, list: 'parts', part: 0 }],
  ]
  test.each(places)('is named in the style of its family: %s', async (said, place) => {
    expect(positionIn(said)).toEqual(place)
    expect((await classified('chat', 400, said)).refused).toEqual({})
  })

  const conversations: readonly string[] = [
    'No tool output found for function call call_1.',
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
    'messages: at least one message is required',
    'messages: text content blocks must contain non-whitespace text',
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "Invalid value: 'tool'. Supported values are: 'system', 'assistant', 'user', and 'function'.",
    'This model does not support assistant message prefill. The conversation must end with a user message.',
    'This model does not support image input',
    'Could not process image',
    'Corrupted thought signature.',
    'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
    'The model produced this text itself: what a nice system',
  ]
  test.each(conversations)('may be the conversation, without a position: %s', async (said) => {
    for (const status of [400, 422])
      expect((await classified('chat', status, { error: { message: said } })).refused).toEqual({})
  })

  const fields: readonly (readonly [WireName, unknown])[] = [
    ['anthropic', ofAnthropic('invalid_request_error', 'tools.0.custom.input_schema: JSON schema is invalid')],
    ['anthropic', ofAnthropic('invalid_request_error', 'tools: Tool names must be unique.')],
    [
      'anthropic',
      ofAnthropic(
        'invalid_request_error',
        'max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens',
      ),
    ],
    ['anthropic', ofAnthropic('invalid_request_error', '`max_tokens` must be greater than `thinking.budget_tokens`.')],
    [
      'anthropic',
      ofAnthropic('invalid_request_error', 'thinking.budget_tokens: Input should be greater than or equal to 1024'),
    ],
    ['anthropic', ofAnthropic('invalid_request_error', 'thinking: Input tag does not match')],
    [
      'anthropic',
      ofAnthropic('invalid_request_error', 'Thinking may not be enabled when tool_choice forces tool use.'),
    ],
    ['anthropic', ofAnthropic('invalid_request_error', 'adaptive thinking is not supported on this model')],
    ['anthropic', ofAnthropic('invalid_request_error', 'system: text content blocks must be non-empty')],
    [
      'anthropic',
      ofAnthropic('invalid_request_error', 'system.0.text: cache_control cannot be set for empty text blocks'),
    ],
    ['anthropic', ofAnthropic('invalid_request_error', 'model: String should have at least 1 character')],
    ['anthropic', ofAnthropic('invalid_request_error', 'temperature: range: 0..1')],
    [
      'anthropic',
      ofAnthropic('invalid_request_error', '`temperature` and `top_p` cannot both be specified for this model.'),
    ],
    ['anthropic', ofAnthropic('invalid_request_error', 'context_management: Extra inputs are not permitted')],
    [
      'anthropic',
      ofAnthropic('invalid_request_error', 'A maximum of 4 blocks with cache_control may be provided. Found 5.'),
    ],
    ['anthropic', ofAnthropic('invalid_request_error', 'Unexpected value(s) `foo` for the `anthropic-beta` header')],
    ['anthropic', ofAnthropic('invalid_request_error', 'metadata.user_id: String should have at most 256 characters')],
    ['anthropic', ofAnthropic('invalid_request_error', 'This organization has been disabled.')],
    ['anthropic', ofAnthropic('invalid_request_error', 'Too many', { error_code: 'available_tools_limit_exceeded' })],
    [
      'chat',
      ofOpenAI("Invalid schema for function 'look': In context=(), 'additionalProperties' is required", {
        param: 'tools[0].function.parameters',
        code: 'invalid_function_parameters',
      }),
    ],
    [
      'chat',
      ofOpenAI(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        { param: 'max_tokens', code: 'unsupported_parameter' },
      ),
    ],
    [
      'chat',
      ofOpenAI("Unsupported value: 'temperature' does not support 0.2 with this model.", {
        param: 'temperature',
        code: 'unsupported_value',
      }),
    ],
    ['chat', ofOpenAI("Unknown parameter: 'foo'.", { param: 'foo', code: 'unknown_parameter' })],
    ['chat', ofOpenAI('Unrecognized request argument supplied: foo')],
    [
      'chat',
      ofOpenAI(
        "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        { param: 'messages' },
      ),
    ],
    ['chat', ofOpenAI("Missing required parameter: 'tools[0].function.name'.", { param: 'tools[0].function.name' })],
    ['chat', ofOpenAI("tool_choice: 'look' is not among the tools", { param: 'tool_choice' })],
    ['chat', ofOpenAI('Your organization must be verified to stream this model.', { param: 'stream' })],
    ['chat', ofOpenAI("property 'store' is unsupported")],
    ['chat', { error: { message: 'acme/none is not a valid model ID', code: 400 } }],
    [
      'chat',
      {
        object: 'error',
        message: {
          detail: [
            { type: 'extra_forbidden', loc: ['body', 'tools', 0, 'strict'], msg: 'Extra inputs are not permitted' },
          ],
        },
      },
    ],
    ['chat', { error: 'registry.ollama.ai/library/gemma:2b does not support tools' }],
    ['chat', { error: { message: 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]' } }],
    ['chat', '<html><body>400 Request Header Or Cookie Too Large</body></html>'],
    [
      'responses',
      ofOpenAI("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.", {
        param: 'max_output_tokens',
      }),
    ],
    ['responses', ofOpenAI("Invalid 'tools[0].name': string does not match pattern.", { param: 'tools[0].name' })],
    ['responses', ofOpenAI("Invalid schema for response_format 'output'", { param: 'text.format.schema' })],
    [
      'responses',
      ofOpenAI("Unsupported value: 'minimal' is not supported with the 'gpt-9' model.", { param: 'reasoning.effort' }),
    ],
    ['responses', ofOpenAI('Something is wrong here', { param: 'instructions' })],
    [
      'gemini',
      ofGoogle(
        400,
        'INVALID_ARGUMENT',
        '* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].items: missing field.\n',
      ),
    ],
    [
      'gemini',
      ofGoogle(
        400,
        'INVALID_ARGUMENT',
        'Invalid JSON payload received. Unknown name "foo" at \'tools[0].function_declarations[0].parameters\': Cannot find field.',
      ),
    ],
    [
      'gemini',
      ofGoogle(400, 'INVALID_ARGUMENT', 'Invalid value at \'generation_config.max_output_tokens\' (TYPE_INT32), "x"'),
    ],
    [
      'gemini',
      ofGoogle(400, 'INVALID_ARGUMENT', 'Invalid value', [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'system_instruction', description: 'x' }],
        },
      ]),
    ],
    ['gemini', ofGoogle(400, 'INVALID_ARGUMENT', 'Budget 0 is invalid. This model only works in thinking mode.')],
    ['gemini', ofGoogle(400, 'INVALID_ARGUMENT', 'Function calling is not enabled for models/gemma-3')],
    ['gemini', ofGoogle(400, 'FAILED_PRECONDITION', 'User location is not supported for the API use.')],
  ]
  test.each(fields)('is not the conversation where %s speaks of something else: %j', async (wire, body) => {
    const result = await classified(wire, 400, body)
    expect(result).toMatchObject({ kind: 'provider_error', retryable: false })
    expect(result).not.toHaveProperty('refused')
  })

  test('is found though only a field beside the message names it', async () => {
    expect(
      (await read('responses', 400, ofOpenAI('It is too long', { param: 'input[4].content[2]' }))).position,
    ).toEqual({
      item: 4,
      list: 'content',
      part: 2,
    })
    const violations = [{ fieldViolations: [{ field: 'contents[1].parts[3]', description: 'bad' }] }]
    expect((await read('gemini', 400, ofGoogle(400, 'INVALID_ARGUMENT', 'Bad', violations))).position).toEqual({
      item: 1,
      list: 'parts',
      part: 3,
    })
  })

  test('is only refused where it was a 400 or a 422', () => {
    for (const status of [404, 500, 429, 401])
      expect(new ServiceError('messages.1: bad', { status }).refused).toBeUndefined()
  })
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', mediaType: 'image/png', data: png } as const
const text = (said: string) => ({ type: 'text', text: said }) as const
const call = (id: string) => ({ type: 'tool_call', id, name: 'look', input: {} }) as const
const result = (callId: string, output: unknown = 'seen') => ({ type: 'tool_result', callId, output, isError: false })

/** One of everything that shifts an index. */
const conversation = [
  { role: 'user', content: [text('look'), text(''), image, text('there')] },
  {
    role: 'assistant',
    content: [{ type: 'thinking', text: 'not signed' }, text('I look'), call('c1'), call('c2')],
  },
  { role: 'user', content: [result('c1', [text('a'), image]), result('c2', [image]), text('go on')] },
  { role: 'assistant', content: [text('')] },
  { role: 'user', content: [text('and now')] },
] as unknown as Message[]

const services = {
  anthropic,
  openrouter,
  openai,
  google,
  mistral: (options: ServiceOptions) => openaiCompat({ ...options, name: 'mistral' }),
} satisfies Record<string, (options: ServiceOptions) => Provider>

/** What a provider says was refused, when its service says this about such a conversation. */
async function refusalOf(
  service: keyof typeof services,
  said: string | object,
  messages: readonly Message[] = conversation,
  system = 'Be kind.',
): Promise<unknown> {
  const body = typeof said === 'string' ? { error: { message: said, type: 'invalid_request_error' } } : said
  const transport: Transport = async () => response(400, JSON.stringify(body))
  return refusalBy(services[service]({ ...bare, transport }), messages, system)
}

const bare = { apiKey: 'k', retry: false, watchdog: false, prices: false } as const

async function refusalBy(provider: Provider, messages: readonly Message[], system = ''): Promise<unknown> {
  const request: ModelRequest = { model: 'm', system, messages, tools: [], maxTokens: 10, thinking: 'off', cache: true }
  try {
    for await (const _ of provider.stream(request, new AbortController().signal));
  } catch (error) {
    return provider.classifyError?.(error)?.refused
  }
  throw new Error('it was not refused')
}

describe('a block that is refused is found in the request', () => {
  const rows: readonly (readonly [string, keyof typeof services, string, object | undefined])[] = [
    [
      'an image, past an empty text',
      'anthropic',
      'messages.0.content.1.image.source.base64: invalid',
      { message: 0, block: 2 },
    ],
    ['a text', 'anthropic', 'messages.0.content.2.text: bad', { message: 0, block: 3 }],
    [
      'a call, past thinking that was left out',
      'anthropic',
      'messages.1.content.1.tool_use.input: bad',
      { message: 1, block: 2 },
    ],
    [
      'a result with an image',
      'anthropic',
      'messages.2.content.1.tool_result.content.0.image: bad',
      { message: 2, block: 1 },
    ],
    ['what follows an empty message', 'anthropic', 'messages.3.content.0.text: bad', { message: 4, block: 0 }],
    ['a message, but which block?', 'anthropic', 'messages.1: bad', { message: 1 }],
    ['a message of one block', 'anthropic', 'messages.3: bad', { message: 4, block: 0 }],
    ['nothing there', 'anthropic', 'messages.9: bad', {}],

    ['the system prompt, which is no block', 'openrouter', "Invalid 'messages[0].content': too long", undefined],
    [
      'an image, past the system prompt',
      'openrouter',
      "Invalid 'messages[1].content[1].image_url'",
      { message: 0, block: 2 },
    ],
    ['what the assistant said, but which block?', 'openrouter', "Invalid 'messages[2].content'", { message: 1 }],
    [
      'the second call',
      'openrouter',
      "Invalid 'messages[2].tool_calls[1].function.arguments'",
      { message: 1, block: 3 },
    ],
    ['the first call', 'openrouter', "Invalid 'messages[2].tool_calls[0].id'", { message: 1, block: 2 }],
    ['a result', 'openrouter', 'Invalid parameter | messages.[4].role', { message: 2, block: 1 }],
    [
      'an image that came with the first result',
      'openrouter',
      "Invalid 'messages[5].content[1].image_url'",
      { message: 2, block: 0 },
    ],
    [
      'an image that came with the second result',
      'openrouter',
      "Invalid 'messages[5].content[3].image_url'",
      { message: 2, block: 1 },
    ],
    ['a text behind images', 'openrouter', "Invalid 'messages[5].content[4].text'", { message: 2, block: 2 }],
    ['the message behind', 'openrouter', "Invalid 'messages[6]'", { message: 4, block: 0 }],
    ['the sentence that Mistral needs, which is nowhere', 'mistral', "Invalid 'messages[5]'", { message: 2 }],
    ['the message behind that sentence', 'mistral', "Invalid 'messages[7].content'", { message: 4, block: 0 }],

    ['an image', 'openai', "Invalid 'input[0].content[1].image_url'", { message: 0, block: 2 }],
    ['a text', 'openai', "Invalid 'input[1].content[0]'", { message: 1, block: 1 }],
    ['a call', 'openai', "Invalid 'input[3].call_id'", { message: 1, block: 3 }],
    ['a result', 'openai', "Invalid 'input[5].output[0]'", { message: 2, block: 1 }],
    ['a text after results', 'openai', "Invalid 'input[6].content[0].text'", { message: 2, block: 2 }],
    ['the last message', 'openai', "Invalid 'input[7]'", { message: 4, block: 0 }],

    ['an image', 'google', "Invalid value at 'contents[0].parts[1].inline_data'", { message: 0, block: 2 }],
    ['a call', 'google', "Invalid value at 'contents[1].parts[2].function_call'", { message: 1, block: 3 }],
    ['a result', 'google', "Invalid value at 'contents[2].parts[1].function_response'", { message: 2, block: 1 }],
    [
      'an image of the second result',
      'google',
      "Invalid value at 'contents[3].parts[3].inline_data'",
      { message: 2, block: 1 },
    ],
    ['a text after images', 'google', "Invalid value at 'contents[3].parts[4].text'", { message: 2, block: 2 }],
    ['the last message', 'google', '* GenerateContentRequest.contents[4].parts: bad', { message: 4, block: 0 }],
  ]
  test.each(rows)('%s (%s): %s', async (_, service, said, expected) => {
    expect(await refusalOf(service, said)).toEqual(expected)
  })

  test('also where old thinking was left out after it was rejected once', async () => {
    const thinking = { type: 'thinking', text: 'hm', signature: 'sig' }
    const messages = [
      { role: 'user', content: [text('one')] },
      { role: 'assistant', content: [thinking, text('two'), thinking, image, text('three')] },
      { role: 'user', content: [text('four')] },
    ] as unknown as Message[]
    // It has no more to leave out the second time, so the same words are about something else.
    const said = 'messages.1.content.2.thinking: bad'
    expect(await refusalOf('anthropic', said, messages)).toEqual({ message: 1, block: 4 })
  })

  test('also where results had to be put in order', async () => {
    const messages = [
      { role: 'user', content: [text('one')] },
      { role: 'assistant', content: [call('a'), call('b')] },
      { role: 'user', content: [text('first'), result('b'), result('a')] },
    ] as unknown as Message[]
    expect(await refusalOf('anthropic', 'messages.2.content.0.tool_result: bad', messages)).toEqual({
      message: 2,
      block: 2,
    })
    expect(await refusalOf('anthropic', 'messages.2.content.2.text: bad', messages)).toEqual({ message: 2, block: 0 })
  })

  test('but not where it was only added for the service', async () => {
    const messages = [{ role: 'assistant', content: [text('hello')] }] as unknown as Message[]
    expect(await refusalOf('anthropic', 'messages.0.content.0: bad', messages)).toEqual({})
    expect(await refusalOf('anthropic', 'messages.1.content.0: bad', messages)).toEqual({ message: 0, block: 0 })
  })

  test('nor in what the service itself had begun to say', async () => {
    const [{ frames }] = families as [Family]
    const paused = frames({ text: ['Let me'], stop: 'pause_turn' }).join('')
    const bodies = [response(200, paused), response(400, '{"error":{"message":"messages.1.content.0: bad"}}')]
    const transport: Transport = async () => bodies.shift()!
    const messages = [{ role: 'user', content: [text('hello')] }] as unknown as Message[]
    expect(await refusalBy(anthropic({ ...bare, transport }), messages)).toEqual({})
  })
})
