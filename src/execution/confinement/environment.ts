import { childEnv } from '../commands/child-env.ts'

type Variables = Readonly<Record<string, string>>

interface SandboxEnvOptions {
  readonly inheritEnv: readonly string[]
  readonly added: readonly (Variables | undefined)[]
  /** The folders of `PATH`. */
  readonly path: readonly string[]
  readonly home: string
  /** Its temporary folder. Default: `/tmp`. */
  readonly temporary?: string
  /** The caches at home can be written. */
  readonly hasCaches?: boolean
  readonly profile: 'read-only' | 'workspace-write'
}

/** The environment of a command in a sandbox. What keeps programs from running code of the project cannot be overridden. */
export function sandboxEnv(options: SandboxEnvOptions): Record<string, string> {
  const { inheritEnv, added, path, home, hasCaches = false, temporary = '/tmp', profile } = options
  const env = childEnv({
    host: process.env,
    inherit: inheritEnv,
    added: [hasCaches ? {} : under(temporary, caches), ...added],
  })
  const git = profile === 'read-only' ? [...gitSettings, ...gitReadOnly] : gitSettings
  return {
    ...env,
    ...(profile === 'read-only' && under(temporary, buildFolders)),
    PATH: path.join(':'),
    HOME: home,
    TMPDIR: temporary,
    GIT_OPTIONAL_LOCKS: '0',
    ...gitConfig(git),
  }
}

/** Caches go to the temporary folder, under these names: those at home cannot be written. */
const caches: Variables = {
  XDG_CACHE_HOME: '.cache',
  npm_config_cache: '.npm',
  PYTHONPYCACHEPREFIX: '.cache/python',
  MYPY_CACHE_DIR: '.cache/mypy',
  RUFF_CACHE_DIR: '.cache/ruff',
  GOCACHE: '.cache/go-build',
}

/** What compilers write into the project otherwise. */
const buildFolders: Variables = { CARGO_TARGET_DIR: '.cache/cargo-target' }

function under(folder: string, names: Variables): Variables {
  return Object.fromEntries(Object.entries(names).map(([name, path]) => [name, `${folder}/${path}`]))
}

/** A nested repository may configure a program that even `git status` would run. */
const gitSettings: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['safe.bareRepository', 'explicit'],
]

const gitReadOnly: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.sshCommand', 'false'],
  ['protocol.allow', 'never'],
  ['log.showSignature', 'false'],
]

function gitConfig(settings: readonly (readonly [string, string])[]): Variables {
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key, value], i) => [
      [`GIT_CONFIG_KEY_${i}`, key],
      [`GIT_CONFIG_VALUE_${i}`, value],
    ]),
  ])
}
