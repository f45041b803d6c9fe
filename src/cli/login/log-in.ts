import { messageOf } from '../../core/errors.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { openKeyboard } from '../../tui/input/keyboard.ts'
import { readLine } from '../../tui/input/read-line.ts'
import { createTerminal } from '../../tui/terminal/terminal.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { requireKnown } from '../models/choose-model.ts'
import { openCredentials, variableOf } from '../models/credentials.ts'
import { type KnownProvider, knownProviders } from '../models/providers.ts'

interface LoginOptions {
  readonly 'key-stdin'?: boolean
  readonly browser?: boolean
  readonly check?: boolean
}

/** `libero login`: stores a key, or the tokens of a login in the browser. */
export async function logIn(named: string | undefined, options: LoginOptions, io: Io): Promise<number> {
  if (options.browser && (options['key-stdin'] || options.check))
    throw new UsageError('--browser does not use a key: leave out --key-stdin and --check')
  const { config } = await loadConfig({ home: io.home })
  const known = knownProviders(config)
  if (named !== undefined && !known.has(named) && looksLikeKey(named)) throw keyAsArgument()
  const prompter = options['key-stdin'] ? undefined : openPrompter(io)
  try {
    const provider = named === undefined ? await chooseProvider(known, prompter) : requireKnown(named, known)
    refuseKeyless(provider)
    const path = options.browser
      ? await throughBrowser(provider, prompter, io)
      : await withKey(provider, options, prompter, io)
    reportStored(provider, path, io)
  } catch (error) {
    throw error instanceof Error && error.name === 'AbortError' ? nothingStored('the login was stopped') : error
  } finally {
    prompter?.close()
  }
  return exitCodes.done
}

/** Throws for a provider that takes no key. */
export function refuseKeyless({ name, dialect }: KnownProvider): void {
  if (dialect === 'none') throw new CliError(`${name} needs no key: libero --provider ${name} "list the files"`)
}

/** Provider names are shorter and do not begin like keys. */
const looksLikeKey = (word: string): boolean =>
  word.length > 24 || /^(?:sk|pk|rk|gsk|xai|csk|fw|AIza|eyJ)[-_A-Z0-9]/.test(word)

async function chooseProvider(
  known: ReadonlyMap<string, KnownProvider>,
  prompter: Prompter | undefined,
): Promise<KnownProvider> {
  const names = [...known.values()].filter(({ isFree }) => !isFree).map(({ name }) => name)
  if (!prompter) throw new UsageError(`login needs a provider, one of ${names.join(', ')}`)
  prompter.say(names.map((name, i) => `${String(i + 1).padStart(3)}  ${name}`).join('\n'))
  const answer = (await prompter.ask('which provider? '))?.trim()
  if (!answer) throw nothingStored('no provider was chosen')
  if (!known.has(answer) && !/^\d{1,3}$/.test(answer) && looksLikeKey(answer))
    throw new CliError('that looks like a key; enter the provider first')
  return requireKnown(names[Number(answer) - 1] ?? answer, known)
}

async function withKey(
  provider: KnownProvider,
  options: LoginOptions,
  prompter: Prompter | undefined,
  io: Io,
): Promise<string> {
  const key = options['key-stdin'] ? await keyFromStdin(io) : await askKey(provider, prompter)
  return storeKey(provider, { key, check: options.check === true }, io)
}

async function keyFromStdin(io: Io): Promise<string> {
  const { readStdin } = await import('../run/read-task.ts')
  const piped = await readStdin(io)
  if (piped === undefined)
    throw new UsageError('--key-stdin found nothing on stdin; pipe the key in: … --key-stdin < key.txt')
  return piped
}

async function askKey({ name }: KnownProvider, prompter: Prompter | undefined): Promise<string> {
  if (!prompter)
    throw new UsageError(
      `there is no terminal to ask for the key; pipe it in: libero login ${name} --key-stdin < key.txt`,
    )
  const page = keyPages[name]
  prompter.say(
    `enter the key of ${name}${page ? ` (get one at ${page})` : ''}; it is not shown while you type or paste it`,
  )
  const key = await prompter.ask('key: ', { isSecret: true })
  if (!key?.trim()) throw nothingStored('no key was given')
  return key
}

const nothingStored = (what: string): CliError => new CliError(`${what}, and nothing was stored`, exitCodes.interrupted)

const maxKeyLength = 8192

/** Stores a key, if it is one. With `check` only if the service accepts it. */
export async function storeKey(
  provider: KnownProvider,
  { key: given, check }: { readonly key: string; readonly check: boolean },
  io: Io,
): Promise<string> {
  const key = checkedKey(given)
  if (check) await checkKey(provider, key, io)
  const store = await openCredentials(io)
  await store.set(provider.name, { type: 'api_key', key })
  return store.path
}

/** Rejects what cannot be sent in a header. The value itself is not shown. */
function checkedKey(text: string): string {
  const key = text.trim()
  if (key === '') throw new UsageError('the key is empty; nothing was stored')
  if (/\s/.test(key)) throw new UsageError('a key contains no blanks or line breaks; nothing was stored: copy it again')
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError('the key contains characters that keys do not have; nothing was stored: copy it again')
  if (key.length > maxKeyLength)
    throw new UsageError(`the key is too long (${key.length} characters); nothing was stored: copy it again`)
  return key
}

async function throughBrowser({ name }: KnownProvider, prompter: Prompter | undefined, io: Io): Promise<string> {
  if (name !== 'openai') throw new UsageError(`--browser works for openai only; for a key: libero login ${name}`)
  return (await import('./browser-login.ts')).browserLogin(name, prompter, io)
}

function reportStored(provider: KnownProvider, path: string, io: Io): void {
  const name = visibleName(provider.name)
  io.err(`stored for ${name} in ${visibleName(path)}; try: libero --provider ${name} "what is in this folder?"`)
  const variable = variableOf(provider, io)
  if (variable) io.err(`${variable} is set and takes precedence: unset it to use what was stored`)
}

/** `libero login --list`: what is stored, without the secrets. */
export async function list(io: Io): Promise<number> {
  const stored = await (await openCredentials(io)).list()
  if (stored.length === 0) io.err('nothing is stored yet; start with: libero login')
  for (const { name, type, expires } of stored) {
    const until =
      expires === undefined
        ? ''
        : `, ${expires < Date.now() ? 'expired' : 'valid until'} ${new Date(expires).toISOString()}`
    io.out(`${visibleName(name)}  ${type === 'oauth' ? 'login' : 'key'}${until}`)
  }
  return exitCodes.done
}

/** Asks the person at the terminal for a line. */
export interface Prompter {
  say(text: string): void
  /** Undefined without an answer; Ctrl-C rejects with an `AbortError`. */
  ask(
    prompt: string,
    options?: { readonly isSecret?: boolean; readonly signal?: AbortSignal },
  ): Promise<string | undefined>
  close(): void
}

/** Undefined if stdin is not a terminal. */
function openPrompter(io: Io): Prompter | undefined {
  const keyboard = openKeyboard(io)
  if (!keyboard) return undefined
  const terminal = createTerminal(io)
  return {
    say: (text) => terminal.line(text),
    ask: (prompt, options = {}) => readLine(terminal, keyboard, { prompt, escapeLabel: 'leave', ...options }),
    close() {
      keyboard.close()
      terminal.close()
    },
  }
}

/** The error for a key given as an argument, which is not repeated. */
export function keyAsArgument(): UsageError {
  return new UsageError(
    'a key must not be an argument, because every user of this machine could read it: leave it out and type it when asked, or pipe it in with --key-stdin; if that was a key, replace it by a new one',
  )
}

/** Where to get a key of a provider. */
export const keyPages: Readonly<Record<string, string>> = {
  anthropic: 'https://console.anthropic.com/settings/keys',
  openai: 'https://platform.openai.com/api-keys',
  openrouter: 'https://openrouter.ai/settings/keys',
  google: 'https://aistudio.google.com/apikey',
  cerebras: 'https://cloud.cerebras.ai',
  groq: 'https://console.groq.com/keys',
  deepseek: 'https://platform.deepseek.com/api_keys',
  mistral: 'https://console.mistral.ai/api-keys',
  xai: 'https://console.x.ai',
}

/** Requests the list of models, which is free of charge; throws unless the service accepts the key. */
async function checkKey(provider: KnownProvider, key: string, { fetch }: Pick<Io, 'fetch'>): Promise<void> {
  const { name } = provider
  const [address, headers] = requestFor(provider, key)
  let status: number
  try {
    const response = await fetch(address, { headers, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    status = response.status
    await response.body?.cancel()
  } catch (error) {
    throw new CliError(
      `${name} could not be reached to check the key (${causeOf(error)}), and nothing was stored: check the network, or leave out --check`,
    )
  }
  if (status === 401 || status === 403 || (status === 400 && provider.dialect === 'google'))
    throw new CliError(`${name} does not accept this key (HTTP ${status}), and nothing was stored: copy it again`)
  if (status >= 400)
    throw new CliError(
      `${name} could not check the key (HTTP ${status}), and nothing was stored: try again, or leave out --check`,
    )
}

const timeoutMs = 10_000

function requestFor({ name, baseURL = '', dialect }: KnownProvider, key: string): [string, Record<string, string>] {
  const base = baseURL.replace(/\/+$/, '')
  if (dialect === 'anthropic')
    return [`${base}/models?limit=1`, { 'x-api-key': key, 'anthropic-version': '2023-06-01' }]
  if (dialect === 'google') return [`${base}/models?pageSize=1`, { 'x-goog-api-key': key }]
  // The list of models of OpenRouter needs no key.
  return [`${base}/${name === 'openrouter' ? 'key' : 'models'}`, { authorization: `Bearer ${key}` }]
}

/** The error code of the cause; the message of fetch only says that it failed. */
function causeOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown } | null)?.cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : messageOf(error)
}
