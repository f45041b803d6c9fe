import { describe, expect, test } from 'vitest'
import { isOverflow } from './service-error.ts'

describe('an error that means the request does not fit is recognised', () => {
  const messages: Record<string, string> = {
    'Anthropic, the prompt alone': `400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"},"request_id":"req_1"}`,
    'Anthropic, prompt and output together':
      'input length and `max_tokens` exceed context limit: 190012 + 20000 > 200000, decrease input length or `max_tokens` and try again',
    'Anthropic, too many bytes':
      '{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}',
    Bedrock: 'ValidationException: Input is too long for requested model.',
    'OpenAI Chat': `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130215 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
    'OpenAI, the code alone': 'context_length_exceeded',
    'OpenAI Responses': 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    'OpenAI, one request above the limit per minute':
      'Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41250. The input or output tokens must be reduced in order to run successfully.',
    'Groq, one request above the limit per minute':
      '{"error":{"message":"Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 12000, Requested 20114, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}',
    LiteLLM:
      'litellm.BadRequestError: Context Window exceeded for given call. No models have context window large enough',
    Gemini: 'The input token count (1201540) exceeds the maximum number of tokens allowed (1048576).',
    xAI: `This model's maximum prompt length is 131072 but the request contains 150011 tokens.`,
    Groq: 'Please reduce the length of the messages or completion. Current length is 131205 while limit is 131072',
    Poolside: 'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    Together: `The input (140020 tokens) is longer than the model's context length (131072 tokens).`,
    Copilot: 'prompt token count of 135001 exceeds the limit of 128000',
    'llama.cpp': 'the request exceeds the available context size (8192 tokens), try increasing it',
    'LM Studio':
      'The number of tokens to keep from the initial prompt is greater than the context length (4096 tokens)',
    MiniMax: 'invalid params, context window exceeds limit (2013)',
    Kimi: 'Invalid request: Your request exceeded model token limit: 131072 (requested: 140001)',
    Mistral: 'Prompt contains 40112 tokens, too large for model with 32768 maximum context length',
    DashScope: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]',
    OpenRouter: `This endpoint's maximum context length is 163840 tokens. However, you requested about 170005 tokens`,
    DeepSeek: `This model's maximum context length is 65536 tokens. However, you requested 71002 tokens (67002 in the messages, 4000 in the completion).`,
    vLLM: `This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens.`,
    'z.ai': '{"error":{"code":"1261","message":"Prompt exceeds max length"}}',
    'z.ai in a stream': 'model_context_window_exceeded',
    Ollama: 'prompt too long; exceeded max context length by 512 tokens',
  }

  test.each(Object.entries(messages))('%s', (_, message) => {
    expect(isOverflow(message)).toBe(true)
  })
})

describe('an error that only resembles one is left alone', () => {
  const messages: Record<string, string> = {
    'Bedrock throttles': 'ThrottlingException: Too many tokens, please wait before trying again.',
    'a proxy that throttles':
      'Throttled by the gateway: please reduce the length of the messages or send fewer of them',
    'a proxy that counts tokens': 'Too many tokens in this window; your maximum context length is not the problem',
    'Bedrock throttles per day': 'Too many tokens per day, please wait before trying again.',
    'Anthropic’s limit per minute':
      'rate_limit_error: This request would exceed the rate limit for your organization of 40,000 input tokens per minute; the prompt is too long for it or there were too many of them',
    'OpenAI’s limit per minute':
      'Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2500. Please try again in 3s.',
    'too many requests': '429 Too Many Requests: maximum context length of the queue reached',
    'the code of a rate limit':
      '{"error":{"code":"rate_limit_exceeded","message":"reduce the length of the messages"}}',
    'a deadline in Go': 'rpc error: context deadline exceeded',
    'more output than a model writes':
      'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens',
    'more output than a model writes, at OpenAI':
      'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
    'a heavy image':
      'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes',
    'a file above a limit': 'The file size exceeds the limit of 20 MB',
    'tools above a limit': 'The number of tools exceeds the limit of 128',
    'a long id': `Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40`,
    'an empty purse': 'You exceeded your current quota, please check your plan and billing details.',
    'too many images': 'messages: at most 100 images are allowed per request, the count exceeds the maximum',
    overload: '{"type":"overloaded_error","message":"Overloaded"}',
    'a bad key': '401 invalid x-api-key',
    'a budget too small': 'thinking.budget_tokens: must be smaller than max_tokens',
    nothing: '',
  }

  test.each(Object.entries(messages))('%s', (_, message) => {
    expect(isOverflow(message)).toBe(false)
  })
})

test('a wording counts in any case, and a body of megabytes costs no more than its beginning', () => {
  expect(isOverflow('PROMPT IS TOO LONG')).toBe(true)
  expect(isOverflow(`prompt is too long ${'token '.repeat(500_000)}`)).toBe(true)
  expect(isOverflow(`${'request too large for input token count '.repeat(100_000)}`)).toBe(false)
})
