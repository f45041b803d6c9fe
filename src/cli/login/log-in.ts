import { visibleName } from '../../platform/visible-text.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { loadConfig } from '../config/config.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { requireKnown } from '../models/choose-model.ts'
import { openCredentials, variableOf } from '../models/credentials.ts'
import { type KnownProvider, knownProviders } from '../models/providers.ts'
import { type Asker, openAsker } from './asker.ts'
import { keyAsWord } from './key-as-word.ts'

interface LoginWish {
  readonly 'key-stdin'?: boolean
  readonly browser?: boolean
  readonly check?: boolean
}

/** Stores a key, or the tokens of a login in the browser. */
export async function logIn(named: string | undefined, wish: LoginWish, io: Io): Promise<number> {
  if (wish.browser && (wish['key-stdin'] || wish.check))
    throw new UsageError('--browser goes with no key: leave out --key-stdin and --check')
  const { config } = await loadConfig({ home: io.home })
  const known = knownProviders(config)
  if (named !== undefined && !known.has(named) && looksLikeKey(named)) throw keyAsWord()
  const asker = wish['key-stdin'] ? undefined : openAsker(io)
  try {
    const provider = named === undefined ? await chooseProvider(known, asker) : requireKnown(named, known)
    if (provider.dialect === 'none')
      throw new CliError(`${provider.name} needs no key: libero --provider ${provider.name} "list the files"`)
    const path = wish.browser ? await throughBrowser(provider, asker, io) : await withKey(provider, wish, asker, io)
    sayStored(provider, path, io)
  } catch (error) {
    throw error instanceof Error && error.name === 'AbortError' ? notGiven('the login was stopped') : error
  } finally {
    asker?.close()
  }
  return exitCodes.done
}

/** Nobody's name is so long, or begins like that. */
const looksLikeKey = (word: string): boolean =>
  word.length > 24 || /^(?:sk|pk|rk|gsk|xai|csk|fw|AIza|eyJ)[-_A-Z0-9]/.test(word)

async function chooseProvider(
  known: ReadonlyMap<string, KnownProvider>,
  asker: Asker | undefined,
): Promise<KnownProvider> {
  const names = [...known.values()].filter(({ isFree }) => !isFree).map(({ name }) => name)
  if (!asker) throw new UsageError(`login needs a provider, one of ${names.join(', ')}`)
  asker.say(names.map((name, i) => `${String(i + 1).padStart(3)}  ${name}`).join('\n'))
  const answer = (await asker.ask('which provider? '))?.trim()
  if (!answer) throw notGiven('no provider was chosen')
  if (!known.has(answer) && !/^\d{1,3}$/.test(answer) && looksLikeKey(answer))
    throw new CliError('that looks like a key; the provider is asked for first')
  return requireKnown(names[Number(answer) - 1] ?? answer, known)
}

async function withKey(provider: KnownProvider, wish: LoginWish, asker: Asker | undefined, io: Io): Promise<string> {
  const key = checkedKey(wish['key-stdin'] ? await fromStdin(io) : await askKey(provider, asker))
  if (wish.check) await (await import('./check-key.ts')).checkKey(provider, key, io)
  const store = await openCredentials(io)
  await store.set(provider.name, { type: 'api_key', key })
  return store.path
}

async function fromStdin(io: Io): Promise<string> {
  const { readStdin } = await import('../run/read-task.ts')
  const piped = await readStdin(io)
  if (piped === undefined)
    throw new UsageError('--key-stdin found nothing on stdin; pipe the key in: … --key-stdin < key.txt')
  return piped
}

async function askKey({ name }: KnownProvider, asker: Asker | undefined): Promise<string> {
  if (!asker)
    throw new UsageError(`nobody can be asked for the key here; pipe it in: libero login ${name} --key-stdin < key.txt`)
  const { keyPages } = await import('./key-pages.ts')
  const page = keyPages[name]
  asker.say(
    `the key of ${name}${page ? ` (there are keys at ${page})` : ''}; it is not shown while you type or paste it`,
  )
  const key = await asker.ask('key: ', { isSecret: true })
  if (!key?.trim()) throw notGiven('no key was given')
  return key
}

const notGiven = (what: string): CliError => new CliError(`${what}, and nothing was stored`, exitCodes.interrupted)

const longestKey = 8192

/** What no header could carry is no key. The value itself is not shown. */
function checkedKey(text: string): string {
  const key = text.trim()
  if (key === '') throw new UsageError('the key is empty; nothing was stored')
  if (/\s/.test(key))
    throw new UsageError('a key has no blanks or line breaks inside; nothing was stored: copy it anew')
  if (!/^[\x21-\x7e]+$/.test(key)) throw new UsageError('a key has no such letters; nothing was stored: copy it anew')
  if (key.length > longestKey) throw new UsageError(`a key of ${key.length} characters is none; nothing was stored`)
  return key
}

async function throughBrowser({ name }: KnownProvider, asker: Asker | undefined, io: Io): Promise<string> {
  if (name !== 'openai') throw new UsageError(`--browser works for openai only; for a key: libero login ${name}`)
  return (await import('./browser-login.ts')).browserLogin(name, asker, io)
}

function sayStored(provider: KnownProvider, path: string, io: Io): void {
  const { name } = provider
  io.err(
    `stored for ${visibleName(name)} in ${visibleName(path)}; try: libero --provider ${visibleName(name)} "what is in this folder?"`,
  )
  const variable = variableOf(provider, io)
  if (variable) io.err(`${variable} is set and counts before it: unset it to use what was stored`)
}

/** What is stored, without the secrets. */
export async function list(io: Io): Promise<number> {
  const stored = await (await openCredentials(io)).list()
  if (stored.length === 0) io.err('nothing is stored yet; begin with: libero login')
  for (const { name, type, expires } of stored) {
    const until =
      expires === undefined
        ? ''
        : `, ${expires < Date.now() ? 'expired' : 'valid until'} ${new Date(expires).toISOString()}`
    io.out(`${visibleName(name)}  ${type === 'oauth' ? 'login' : 'key'}${until}`)
  }
  return exitCodes.done
}
