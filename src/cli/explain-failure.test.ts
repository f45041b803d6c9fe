import { describe, expect, test } from 'vitest'
import { CredentialsError } from '../auth/credentials.ts'
import {
  AgentAbortedError,
  AgentAuthError,
  AgentBudgetError,
  AgentContextExceededError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  CodedError,
  leaseLost,
  SessionNotFoundError,
  SessionParkedError,
  StoreError,
  type StoreErrorCode,
  sessionBusy,
} from '../core/errors.ts'
import { dockerProblem } from '../execution/docker/client.ts'
import { CliError, UsageError } from './cli-error.ts'
import { explainFailure, type FailureContext } from './explain-failure.ts'

const context: FailureContext = { provider: 'openai', model: 'gpt-9', now: 1_000_000 }
const explain = (error: unknown, more: FailureContext = {}): string =>
  explainFailure(error, { ...context, ...more }).message

const failed = (
  said: string,
  more: object = {},
  Kind: typeof AgentProviderError = AgentProviderError,
): AgentProviderError => new Kind(`Provider "openai" failed: ${said}`, { provider: 'openai', ...more })

const coded = (code: string, more: object = {}): Error =>
  Object.assign(new Error(`${code}: it failed`), { code, ...more })

/** As fetch and our own transport fail: what happened is inside. */
const unreachable = (code: string, more: object = {}): AgentProviderError =>
  failed('fetch failed', {
    providerCode: code,
    retryable: true,
    cause: new TypeError('fetch failed', { cause: coded(code, more) }),
  })

const later = new AgentRateLimitError(
  'Provider "openai" failed: the service asked to wait until 2026-01-01T00:00:00Z, longer than maxRetryAfterMs (60000) allows. Retry after that time. Service message: HTTP 429: slow down',
  { provider: 'openai' },
)
later.retryAt = 1_090_000

const cases: readonly (readonly [what: string, error: unknown, sentence: string, exitCode: number])[] = [
  [
    'a wrong key',
    failed('HTTP 401: Incorrect API key provided', {}, AgentAuthError),
    'openai did not accept the key (HTTP 401: Incorrect API key provided): run: libero login openai',
    1,
  ],
  [
    'no key',
    new AgentAuthError('Provider "openai": there are no credentials for "openai": pass apiKey', {
      provider: 'openai',
      providerCode: 'no_credentials',
    }),
    'openai needs a key: set OPENAI_API_KEY, or run: libero login openai (to try without one: --provider offline)',
    1,
  ],
  [
    'an empty account',
    failed('HTTP 402: credit is too low', {}, AgentQuotaError),
    'the account at openai has no credit left (HTTP 402: credit is too low): add credit there, or choose another with --provider',
    1,
  ],
  [
    'a rate limit',
    later,
    'openai limits the rate of requests (HTTP 429: slow down): try again in 90 seconds: libero --continue',
    1,
  ],
  [
    'a rate limit without an end',
    failed('HTTP 429', {}, AgentRateLimitError),
    'openai limits the rate of requests (HTTP 429): try again later: libero --continue',
    1,
  ],
  [
    'a full context',
    failed('HTTP 400: prompt is too long', {}, AgentContextExceededError),
    'the conversation exceeds the context window of "gpt-9": start a new one, or choose a model with a larger window (see: libero models openai)',
    1,
  ],
  [
    'an overloaded service',
    failed('HTTP 529: Overloaded', { retryable: true }),
    'openai failed (HTTP 529: Overloaded): try again later: libero --continue',
    1,
  ],
  [
    'a wrong address',
    failed('HTTP 404: an HTML page'),
    'openai has no such address (HTTP 404: an HTML page): check its baseURL',
    1,
  ],
  [
    'an unknown name',
    unreachable('ENOTFOUND', { hostname: 'api.openai.com' }),
    'openai was not found at api.openai.com (ENOTFOUND): check the network (to work without one: --provider offline)',
    1,
  ],
  [
    'a name server that is away',
    unreachable('EAI_AGAIN'),
    'openai was not found (EAI_AGAIN): check the network (to work without one: --provider offline)',
    1,
  ],
  [
    'a server that is not there',
    unreachable('ECONNREFUSED', { address: '127.0.0.1', port: 11434 }),
    'openai does not accept connections at 127.0.0.1:11434 (ECONNREFUSED): start it, or check its address (to work without: --provider offline)',
    1,
  ],
  [
    'a server that is silent',
    unreachable('ETIMEDOUT'),
    'openai does not answer (ETIMEDOUT): check the network, then: libero --continue',
    1,
  ],
  [
    'a broken connection',
    unreachable('ECONNRESET'),
    'the connection to openai broke off (ECONNRESET): check the network, then: libero --continue',
    1,
  ],
  [
    'a strange certificate',
    unreachable('SELF_SIGNED_CERT_IN_CHAIN'),
    'the certificate of openai was not accepted (SELF_SIGNED_CERT_IN_CHAIN): behind a proxy that inspects connections, name its certificate in NODE_EXTRA_CA_CERTS; also check the clock of this machine',
    1,
  ],
  [
    'a session in use',
    sessionBusy('s1', 'pid 7'),
    'session s1 is being written by another program (pid 7): wait for it, or continue in a copy: libero --resume s1 --fork',
    1,
  ],
  [
    'a session that was taken',
    leaseLost('s1'),
    'another program took over or deleted session s1: to continue it when that program has ended: libero --resume s1',
    1,
  ],
  [
    'a parked session',
    new SessionParkedError('Session s1 is parked: it crashed 3 times. Call session.unpark() to try it again'),
    'session s1 is parked (it crashed 3 times): to try it again: libero sessions resume s1 --unpark',
    1,
  ],
  [
    'a session that is not there',
    new SessionNotFoundError('nope'),
    'there is no session "nope": list them with: libero sessions',
    1,
  ],
  [
    'a file without permission',
    coded('EACCES', { path: '/desk/project/x' }),
    'no permission for /desk/project/x: check its owner and its permissions (ls -l)',
    1,
  ],
  [
    'a full disk',
    coded('ENOSPC', { path: '/desk/x' }),
    'the disk is full, /desk/x could not be written: free some space, then try again',
    1,
  ],
  [
    'a read-only disk',
    new Error('cannot', { cause: coded('EROFS', { path: '/desk/x' }) }),
    '/desk/x is on a read-only disk: choose another folder (LIBERO_HOME, --cwd)',
    1,
  ],
  ['a missing file', coded('ENOENT', { path: '/desk/x' }), '/desk/x does not exist: check the path', 1],
  [
    'a wrong rule',
    new CodedError('Validation/InvalidRule', 'allow[0] "shel:ls" is no rule'),
    'a setting cannot be used: allow[0] "shel:ls" is no rule (see: libero config, libero policy --help)',
    1,
  ],
  [
    'an audit that cannot be written',
    new CodedError('Session/AuditWriteFailed', 'no room'),
    'nothing was done, because the audit cannot be written: no room',
    1,
  ],
  [
    'nobody to ask',
    new CodedError('ExtensionHost/NoInteractorAttached', 'nobody can be asked'),
    'nobody can be asked',
    3,
  ],
  [
    'a broken credentials file',
    new CredentialsError('The credentials file /desk/c.json is not a JSON object; correct it by hand'),
    'The credentials file /desk/c.json is not a JSON object; correct it by hand',
    1,
  ],
  [
    'no bubblewrap',
    new Error(
      "Commands must run in a sandbox (`sandbox: 'required'`), and there is none: There is no bwrap in /usr/bin. Nothing was run. Install it with `apt-get install bubblewrap`",
    ),
    'there is no sandbox, and the settings or --sandbox require one: There is no bwrap in /usr/bin. Install it with `apt-get install bubblewrap`; or choose --sandbox auto, which asks about every command instead',
    1,
  ],
  [
    'no Docker',
    dockerProblem('Docker could not look for the image node:24', coded('ENOENT', { address: '/var/run/docker.sock' })),
    '--context docker cannot be used here: Docker does not answer at /var/run/docker.sock (ENOENT). Start Docker (`docker info` must work), or say where it is with DOCKER_HOST; or leave out --context docker',
    1,
  ],
  [
    'no dockerode',
    new Error('A Docker context needs the package dockerode. Install it: npm install dockerode'),
    '--context docker cannot be used here: A Docker context needs the package dockerode. Install it: npm install dockerode; or leave out --context docker',
    1,
  ],
  [
    'a budget',
    new AgentBudgetError('cost', 'The budget is used up: 1 of 1'),
    'a limit was reached (The budget is used up: 1 of 1): to continue with a higher one: libero --continue, with another --max-cost',
    4,
  ],
  ['Ctrl-C', new AgentAbortedError('The run was aborted'), 'interrupted; to continue: libero --continue', 130],
  ['Ctrl-C in a dialog', new DOMException('left', 'AbortError'), 'interrupted', 130],
  ['a usage error', new UsageError('--schema x.json is no JSON'), '--schema x.json is no JSON', 2],
  ['an error of ours', new CliError('no', 3), 'no', 3],
  ['anything else', new RangeError('too big'), 'too big', 1],
  ['a thrown text', 'why not', 'why not', 1],
  ['a thrown nothing', undefined, 'a thrown undefined', 1],
]

test.each(cases)(
  '%s is explained in one message with the next step, and its exit code',
  (_, error, message, exitCode) => {
    expect(explainFailure(error, context)).toEqual({ message, exitCode })
  },
)

test('a cost limit for a model without a price suggests another limit', () => {
  const error = failed('behavior.limits.cost cannot be kept: …', { providerCode: 'unknown_price', retryable: false })
  expect(explain(error)).toMatch(
    /^--max-cost cannot be enforced, .* "gpt-9" of openai is unknown: limit the run with --max-turns/,
  )
})

test('long white space in a message of a service costs no extra time', () => {
  expect(explain(new Error(`one${' '.repeat(500_000)}two`))).toMatch(/^one {500,}…$/)
  expect(explain(new Error('one \r\n\n two\n'))).toBe('one two')
})

describe('an unknown model is named, with the command that lists models', () => {
  test.each([
    ['Anthropic', failed('HTTP 404: model: gpt-9', { providerCode: 'not_found_error' })],
    ['OpenAI', failed('HTTP 400: The requested model does not exist', { providerCode: 'model_not_found' })],
    ['Google', failed('HTTP 404: models/gpt-9 is not found for API version v1beta', { providerCode: 'NOT_FOUND' })],
    ['OpenRouter', failed('HTTP 400: gpt-9 is not a valid model ID', { providerCode: '400' })],
    ['Ollama', failed(`HTTP 404: model 'gpt-9' not found`)],
  ])('as %s reports it', (_, error) => {
    expect(explain(error)).toMatch(
      /^openai has no model "gpt-9" \(HTTP 4.*\): choose one with --model \(see: libero models openai\)$/,
    )
  })
})

test.each([
  'full',
  'read_only',
  'busy',
  'corrupt',
  'newer',
  'network_fs',
  'unavailable',
  'denied',
] satisfies StoreErrorCode[])('a store that is %s says what is wrong, what to do, and which file it is', (code) => {
  const { message, exitCode } = explainFailure(new StoreError(code, 'No room to write to /desk/sessions.db'))
  expect(message).toMatch(/^[a-z].*sessions?.*: .{10,} \(No room to write to \/desk\/sessions\.db\)$/)
  expect(exitCode).toBe(1)
})

test('the address of the request is named, even if only the message contains it', () => {
  const cause = coded('ECONNREFUSED')
  const error = failed('No answer from 127.0.0.1:1: connect ECONNREFUSED; check', {
    providerCode: 'ECONNREFUSED',
    cause,
  })
  expect(explain(error)).toContain('openai does not accept connections at 127.0.0.1:1 (ECONNREFUSED)')
})

test('for a wrong key from the environment, the variable is named', () => {
  const error = failed('HTTP 401', {}, AgentAuthError)
  expect(explain(error, { env: { OPENAI_API_KEY: 'sk-wrong-key-12345678' } })).toContain(
    'correct OPENAI_API_KEY, or unset it and run: libero login openai',
  )
})

test('no message shows a secret, whether recognized by its shape or from the environment', () => {
  const secret = 'hunter2-hunter2'
  const env = { MY_TOKEN: secret, LIBERO_DEBUG: '1' }
  for (const error of [
    failed(`HTTP 401: wrong key sk-abcdefgh12345678 and ${secret}`, {}, AgentAuthError),
    new Error(`Bearer abcdefgh12345678 and ${secret}`, { cause: new Error(`inside ${secret} sk-abcdefgh12345678`) }),
    new StoreError('denied', `postgres://me:${secret}@db.test refuses`),
  ]) {
    const { message } = explainFailure(error, { env })
    expect(message).not.toContain(secret)
    expect(message).not.toContain('abcdefgh12345678')
    expect(message).toContain('[REDACTED')
  }
})

test('control characters are made visible, lines are joined, and long messages are cut', () => {
  expect(explain(new Error('a\u001b]0;x\u0007b\nc\u202ed'))).toBe('a␛]0;x\\x07b c\\u202ed')
  expect(explain(coded('EACCES', { path: '/desk/\u001b[2J' }))).toContain('/desk/␛[2J')
  expect(explain(new Error('x'.repeat(100_000))).length).toBeLessThan(1000)
})

test('a stack is shown only with LIBERO_DEBUG', () => {
  const error = new Error('outer', { cause: new Error('inner') })
  expect(explain(error)).toBe('outer')
  expect(explain(error, { env: { LIBERO_DEBUG: '1' } })).toMatch(
    /^outer\nError: outer\n +at [\s\S]*caused by Error: inner/,
  )
})

test('an error that is its own cause is explained', () => {
  const error = new Error('round') as Error & { cause?: unknown }
  error.cause = error
  expect(explain(error, { env: { LIBERO_DEBUG: '1' } })).toContain('round')
})

test('R09 a service that timed out is called too slow, with the time waited', () => {
  const said = 'no content within 300 s; for a model that needs longer raise firstContentMs of withWatchdog (0 = off)'
  expect(explain(failed(said, { providerCode: 'stalled', cause: coded('ETIMEDOUT') }))).toBe(
    'openai is too slow (no content within 300 s): check the network, then: libero --continue',
  )
})
