import { describe, expect, test } from 'vitest'
import { serviceCases } from '../../../test/oracles/services.ts'
import type { Provider } from '../../core/provider.ts'
import type { ServiceOptions } from '../service.ts'
import { anthropic } from './anthropic.ts'
import { cerebras } from './cerebras.ts'
import { google } from './google.ts'
import { openai } from './openai.ts'
import { openaiCompat } from './openai-compat.ts'
import { openrouter } from './openrouter.ts'

/** What a caller without types might pass. */
type Loose = (options: unknown) => Provider

describe.each(serviceCases)('the options of %s', (service, { make }) => {
  const loose = make as Loose
  const name = service === 'acme' ? 'openaiCompat' : service

  test.each([
    ['apikey', 'apiKey'],
    ['baseUrl', 'baseURL'],
    ['default_model', 'defaultModel'],
    ['extraBody', 'extraBodyParams'],
  ])('are refused when one is called %s, with the right name', (wrong, right) => {
    expect(() => loose({ [wrong]: 'x' })).toThrow(`${name} has no option "${wrong}", did you mean `)
    expect(() => loose({ [wrong]: 'x' })).toThrow(`"${right}"`)
  })

  test.each([
    ['baseURL', 'acme.example/v1', 'an http or https address, such as "https://example.com/v1", got "acme.example/v1"'],
    ['baseURL', '', 'an http or https address'],
    ['baseURL', 'ftp://acme.example', 'got "ftp://acme.example"'],
    ['baseURL', 'https://acme.example/#top', 'an http or https address'],
    ['baseURL', 5, 'got 5'],
    ['defaultModel', 5, 'a text, got 5'],
    ['defaultModel', '', 'a text, got ""'],
    ['expires', 'tomorrow', 'a time in ms since the epoch, got "tomorrow"'],
    ['env', 'ANTHROPIC', 'an object, got "ANTHROPIC"'],
    ['credentialsPath', true, 'a path or false, got true'],
    ['extraBodyParams', [], 'an object, got an array of 0'],
    ['fetch', {}, 'a function, got an object'],
    ['transport', 'http', 'a function, got "http"'],
    ['onRefresh', 1, 'a function, got 1'],
    ['retry', true, 'an object or false, got true'],
    ['watchdog', 5, 'an object or false, got 5'],
    ['prices', 'none', 'an object or false, got "none"'],
    ['clock', {}, 'a clock with now() and timer()'],
  ])('are refused when %s is %j', (option, value, complaint) => {
    expect(() => loose({ [option]: value })).toThrow(`${name} option "${option}" must be `)
    expect(() => loose({ [option]: value })).toThrow(complaint)
  })

  test.each([
    ['apiKey', ['sk-secret-in-a-list']],
    ['access', { token: 'sk-secret-in-an-object' }],
    ['refresh', 12_345_678_901],
    ['headers', 'x-team: sk-secret-in-a-text'],
    ['headers', { 'x-team': ['sk-secret-in-a-header'] }],
  ])('are refused when %s is no text, without showing what it is', (option, value) => {
    const make = () => loose({ [option]: value })
    expect(make).toThrow(`${name} option "${option}" must be `)
    expect(make).not.toThrow(/sk-secret|12345678901/)
  })

  test.each(['https://user:hunter2@acme.example/v1', 'https://user:hunter2@', 'http//user:hunter2@acme.example'])(
    'are refused when the address holds a password, which is not repeated',
    (baseURL) => {
      const make = () => loose({ baseURL })
      expect(make).toThrow('must not hold a user name or a password')
      expect(make).not.toThrow(/hunter2/)
    },
  )

  test('are refused when they are none', () => {
    const given = { anthropic, cerebras, google, openai, openrouter, openaiCompat } as Record<string, Loose>
    expect(() => given[name]!(null)).toThrow(/takes its options as an object|needs a name/)
    if (name !== 'openaiCompat') expect(() => given[name]!('sk-secret')).toThrow('as an object, got string')
  })

  test('are looked into: those of retry and watchdog have names too', () => {
    expect(() => loose({ retry: { maxAttempt: 1 } })).toThrow('did you mean "maxAttempts"')
    expect(() => loose({ watchdog: { betweenEventMs: 1 } })).toThrow(/has no option "betweenEventMs"/)
  })

  test.each([
    [{ model: {} }, 'option "prices" has no option "model", did you mean "models"'],
    [{ prices: true }, 'option "prices" option "prices" must be false, got true'],
    [{ models: { m: { input: -1 } } }, 'for "m" option "input" must be a number of at least 0, got -1'],
    [{ models: { m: { cachedRead: 1 } } }, 'for "m" has no option "cachedRead", did you mean "cacheRead"'],
    [{ models: { m: 5 } }, 'for "m" takes its options as an object, got number'],
  ])('are looked into: prices that make no sense are refused', (prices, complaint) => {
    expect(() => loose({ prices })).toThrow(complaint)
  })

  test('may be undefined, each of them', () => {
    const names = ['apiKey', 'access', 'headers', 'retry', 'watchdog', 'prices', 'fetch', 'clock', 'env']
    expect(() => loose(Object.fromEntries(names.map((one) => [one, undefined])))).not.toThrow()
  })

  test('set the model for requests without one', () => {
    expect(make({}).meta.defaultModel).toMatch(/./)
    expect(make({ defaultModel: 'another' }).meta.defaultModel).toBe('another')
  })
})

describe('the options of one service', () => {
  test.each([
    [anthropic, { extraBetas: 'one' }, 'anthropic option "extraBetas" must be a list of texts, got "one"'],
    [anthropic, { contextManagement: [] }, 'anthropic option "contextManagement" must be an object'],
    [anthropic, { version: 2023 }, 'anthropic option "version" must be a text, got 2023'],
    [anthropic, { oauth: { clientId: 'c' } }, 'must be an object with clientId, authorizeUrl and tokenUrl'],
    [anthropic, { organization: 'o' }, 'anthropic has no option "organization"'],
    [openai, { oauth: 'default' }, 'openai option "oauth" must be'],
    [openai, { projects: 'p' }, 'openai has no option "projects", did you mean "project"?'],
    [openrouter, { appname: 'a' }, 'openrouter has no option "appname", did you mean "appName"'],
    [openrouter, { appUrl: 1 }, 'openrouter option "appUrl" must be a text, got 1'],
  ] as [Loose, object, string][])('%o are refused where they are wrong: %o', (make, options, complaint) => {
    expect(() => make(options)).toThrow(complaint)
  })

  test.each([
    [{ authHeader: { name: 'two words' } }, 'openaiCompat option "authHeader" must be an object such as'],
    [{ authHeader: { scheme: 'Bearer' } }, 'openaiCompat option "authHeader" must be an object such as'],
    [{ cacheBreakpoints: 'yes' }, 'openaiCompat option "cacheBreakpoints" must be true or false, got "yes"'],
    [{ envKeys: 'KEY' }, 'openaiCompat option "envKeys" must be a list of texts, got "KEY"'],
    [{ capabilities: { visoin: false } }, 'openaiCompat.capabilities has no option "visoin", did you mean "vision"?'],
    [{ capabilities: { vision: 0 } }, 'openaiCompat.capabilities option "vision" must be true or false, got 0'],
    [{ quirks: { maxTokenField: 'x' } }, 'did you mean "maxTokensField"'],
    [{ quirks: { systemRole: 'boss' } }, 'must be one of "system", "developer", got "boss"'],
    [{ name: '' }, 'openaiCompat needs a name, such as openaiCompat({ name: "groq" })'],
  ])('openaiCompat are refused where they are wrong: %o', (options, complaint) => {
    const acme = { name: 'acme', baseURL: 'https://acme.example/v1', defaultModel: 'm' }
    expect(() => (openaiCompat as Loose)({ ...acme, ...options })).toThrow(complaint)
  })

  test('that are shared are known to all of them', () => {
    const shared: ServiceOptions = { apiKey: 'k', headers: { 'X-Team': 'red' }, retry: false, watchdog: false }
    for (const [, { make }] of serviceCases) expect(() => make(shared)).not.toThrow()
  })
})
