import { isIn } from '../../platform/is-in.ts'
import { isShellGlob, mayBeName } from '../../platform/wildcard.ts'
import { bothForms, canonicalPath, type PathBase } from './canonical-path.ts'

/** Why writing a path, and perhaps reading it, needs an approval, in words. */
interface Protection {
  readonly write: string
  readonly read?: string
}

/**
 * The protection of a path, if any. Decided by name alone, so that a file that does not exist yet is protected too.
 * `isDeep`: everything in the folder is read.
 */
export type Protect = (path: string, isDeep?: boolean) => Protection | undefined

/** `own`: the folders with this program's settings, grants and credentials. */
export function createProtection(base: PathBase & { readonly own?: readonly string[] } = {}): Protect {
  const own = (base.own ?? []).map((folder) => canonicalPath(folder, base))
  const [root, home] = [base.root, base.home].map((folder) => folder && canonicalPath(folder, base))
  const isHomeInWork = isIn(home, root)
  return (path, isDeep = false) => {
    const forms = bothForms(path, base)
    if (isDeep && !isHomeInWork && forms.some((form) => form.startsWith('/') && isIn(home, form))) return wholeHome
    if (forms.some((form) => ofTheSystem.test(form))) return systemSecrets
    if (forms.some((form) => own.some((folder) => form === folder || form.startsWith(`${folder}/`)))) return ownFolder
    const [found, elsewhere] = forms.map(byName)
    // A workspace may lie inside an editor's folder and stay writable, but not inside a folder of credentials.
    return elsewhere?.read === undefined ? found : elsewhere
  }
}

/** The protection with default folders. */
export const protection: Protect = createProtection()

/** Environment and memory of processes, and the system's password files. */
const ofTheSystem =
  /^\/(?:proc\/[^/]+\/(?:task\/[^/]+\/)?(?:environ|mem|maps|root|cwd|fd)|etc\/(?:g?shadow-?|sudoers))(?:\/|$)/
const systemSecrets: Protection = { write: 'it guards the system', read: 'it holds secrets of the system or a process' }
const wholeHome: Protection = {
  write: 'the home folder lies in it',
  read: 'all of the home folder lies in it, and the credentials there',
}

const ownFolder: Protection = {
  write: 'it belongs to the settings of this program',
  read: 'it may hold the credentials of this program',
}

/** Matches at any depth, since every folder may be a project or a home. */
function byName(path: string): Protection | undefined {
  let found: Protection | undefined
  const segments = path.split('/')
  for (let i = 0; i < segments.length; i++) {
    for (const entry of entriesFor(segments[i]!)) {
      if (!entryMatches(entry, segments, i)) continue
      // An inner folder may forbid reading even if an outer one does not.
      if (entry.read !== undefined) return { write: entry.write, read: entry.read }
      found ??= { write: entry.write }
    }
  }
  return found
}

function entriesFor(segment: string): readonly Entry[] {
  if (!isShellGlob(segment)) return entries.get(longName(segment)) ?? []
  // A glob that begins with a wildcard means files in general.
  if (/^[*?[]/.test(segment)) return []
  return [...entries.keys()].filter((name) => mayBeName(segment, name)).flatMap((name) => entries.get(name)!)
}

interface Entry extends Protection {
  /** Paths inside the folder that are protected. Absent: the whole folder or file. */
  readonly inside?: readonly string[]
  /** Matches only as the last segment. */
  readonly isFile?: boolean
}

function entryMatches({ inside, isFile }: Entry, segments: readonly string[], at: number): boolean {
  const rest = segments.slice(at + 1)
  if (isFile) return rest.length === 0
  // Replacing or removing the folder itself replaces what is in it.
  if (!inside || rest.length === 0) return true
  const tail = rest.join('/')
  if (isShellGlob(tail)) return true
  return inside.some((inner) => tail === inner || tail.startsWith(`${inner}/`) || inner.startsWith(`${tail}/`))
}

/** Resolves Windows short names: `git~1` is `.git`. */
function longName(segment: string): string {
  const short = segment.includes('~') ? /^([^~.]{1,6})~\d+(\.[^.]{1,3})?$/.exec(segment) : undefined
  return (short && shortNames.get(`${short[1]}${short[2] ?? ''}`)) ?? segment
}

const git: Entry = {
  write: 'git runs programs that its configuration and hooks name',
  inside: [
    ...['config', 'config.worktree', 'hooks', 'info/attributes', 'modules', 'worktrees', 'commondir'],
    ...['remotes', 'branches'],
  ],
}
const gitFile: Entry = { write: 'git runs programs that its configuration and hooks name', isFile: true }
const editor: Entry = { write: 'editors run what their project folders tell them to' }
const agents: Entry = { write: 'other agents obey what is in it' }
const pipeline: Entry = { write: 'build servers run what it says' }
const servers: Entry = { write: 'it says which servers are started', isFile: true }
const startUp: Entry = { write: 'shells run it when they start', isFile: true }
const packages: Entry = { write: 'it says where programs are loaded from and what runs', isFile: true }
const secrets: Entry = { write: 'it guards credentials', read: 'it holds credentials' }
const secretFile: Entry = { ...secrets, isFile: true }
const within = (entry: Entry, ...inside: string[]): Entry => ({ ...entry, isFile: false, inside })

const names: readonly (readonly [Entry, ...string[]])[] = [
  [git, '.git'],
  [gitFile, '.gitattributes', '.gitconfig', '.gitmodules'],
  [{ write: 'it belongs to the settings of this program' }, '.libero'],
  [servers, '.mcp.json', 'mcp.json', 'mcp_config.json', 'claude_desktop_config.json'],
  [editor, '.vscode', '.idea', '.cursor', '.windsurf', '.zed', '.fleet', '.nvim', '.devcontainer'],
  [agents, '.agents', '.claude', '.gemini', '.codex', '.opencode', '.qwen'],
  [agents, '.continue', '.kiro', '.roo', '.clinerules', '.amazonq'],
  [agents, '.trae', '.junie', '.augment', '.goose', '.factory', '.amp', '.kilocode', '.cline', '.copilot'],
  [agents, '.openhands', '.rovodev', '.tabnine', '.pi'],
  [within(agents, 'hooks'), '.github'],
  [{ ...agents, isFile: true }, 'opencode.json', 'opencode.jsonc', '.aider.conf.yml', 'crush.json', '.crush.json'],
  [{ ...editor, isFile: true }, '.exrc', '.nvimrc', '.vimrc', '.nvim.lua', '.emacs', '.dir-locals.el'],
  [{ ...editor, isFile: true }, '.lvimrc', '.devcontainer.json', '.dir-locals-2.el', '_vimrc', '_exrc', '.lazy.lua'],
  [editor, '.helix', '.idx', '.codesandbox', '.vs'],
  [{ ...editor, isFile: true }, '.gitpod.yml', '.replit'],
  [within({ write: 'hg runs programs that it names' }, 'hgrc'), '.hg'],
  [within({ write: 'sl runs programs that it names' }, 'config'), '.sl'],
  [within({ write: 'pijul runs programs that it names' }, 'config'), '.pijul'],
  [within({ write: 'darcs runs programs that it names' }, 'prefs/defaults'), '_darcs'],
  [within({ write: 'jj runs programs that it names' }, 'repo/config.toml'), '.jj'],
  [within(pipeline, 'workflows', 'actions'), '.github'],
  [within(pipeline, 'workflows'), '.gitea', '.forgejo'],
  [pipeline, '.circleci', '.buildkite', '.woodpecker', '.teamcity', '.semaphore', '.builds', '.tekton'],
  [pipeline, '.azure-pipelines'],
  [{ ...pipeline, isFile: true }, '.cirrus.yml', '.build.yml', '.screwdriver.yaml'],
  [{ ...pipeline, isFile: true }, '.gitlab-ci.yml', '.travis.yml', '.drone.yml', '.woodpecker.yml', 'jenkinsfile'],
  [{ ...pipeline, isFile: true }, 'azure-pipelines.yml', 'bitbucket-pipelines.yml', 'appveyor.yml', '.appveyor.yml'],
  [startUp, '.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile', '.inputrc'],
  [
    startUp,
    '.zshrc',
    '.zshenv',
    '.zprofile',
    '.zlogin',
    '.zlogout',
    '.cshrc',
    '.tcshrc',
    '.login',
    '.kshrc',
    '.xprofile',
  ],
  [
    startUp,
    '.envrc',
    'mise.toml',
    '.mise.toml',
    '.screenrc',
    '.xinitrc',
    '.xsession',
    '.tmux.conf',
    'config.fish',
    'profile.ps1',
    'microsoft.powershell_profile.ps1',
  ],
  [{ write: 'the system runs what is in it' }, 'launchagents', 'launchdaemons'],
  [startUp, '.tool-versions', 'rust-toolchain', 'rust-toolchain.toml', '.in', '.out'],
  [{ ...startUp, isFile: false }, '.flox'],
  [{ ...editor, isFile: true }, '.ycm_extra_conf.py'],
  [within(editor, 'coc-settings.json'), '.vim'],
  [{ ...agents, isFile: true }, '.opencode.json'],
  [startUp, 'mise.local.toml', '.mise.local.toml', '.rtx.toml', '.autoenv', '.autoenv.zsh', '.rvmrc'],
  [
    within(startUp, 'fish', 'direnv', 'autostart', 'systemd', 'environment.d', 'nushell', 'mise', 'mise.toml'),
    '.config',
  ],
  [{ ...packages, read: 'it may hold tokens' }, '.npmrc', '.yarnrc.yml', '.pypirc'],
  [packages, '.yarnrc', '.pnpmfile.cjs', 'bunfig.toml', 'pip.conf', 'pip.ini'],
  [packages, '.ripgreprc', '.curlrc', '.wgetrc', '.condarc', '.gemrc', '.irbrc', '.pythonrc', '.pdbrc'],
  [packages, '.pryrc', '.rprofile', '.renviron', '.ghci', '.ocamlinit', '.gdbinit', '.lldbinit', '.bazelrc'],
  [within(packages, 'config'), '.bundle'],
  [within(packages, 'config', 'config.toml', 'credentials', 'credentials.toml'), '.cargo'],
  [within(packages, 'releases', 'plugins'), '.yarn'],
  [{ ...packages, isFile: false }, '.pip'],
  [{ ...startUp, isFile: false }, '.mise', '.direnv', '.shadowenv.d'],
  [packages, '.pnpmfile.mjs', '.iex.exs', '.byebugrc', '.rdebugrc', '.octaverc'],
  [{ write: 'git runs what is in it' }, '.husky'],
  [{ write: 'git runs what is in it', isFile: true }, '.pre-commit-config.yaml', '.overcommit.yml'],
  [
    { write: 'git runs what is in it', isFile: true },
    ...['', '.'].flatMap((dot) =>
      ['lefthook', 'lefthook-local'].flatMap((name) =>
        ['yaml', 'yml', 'toml', 'json'].map((extension) => `${dot}${name}.${extension}`),
      ),
    ),
    ...['.pre-commit-config.yml', 'prek.toml', 'hk.pkl', 'captainhook.json'],
    ...['', '.'].flatMap((dot) => ['json', 'js', 'cjs'].map((extension) => `${dot}simple-git-hooks.${extension}`)),
  ],
  [
    within(
      { write: 'git runs what is in it' },
      ...['lefthook', 'lefthook-local'].flatMap((name) =>
        ['yaml', 'yml', 'toml', 'json'].map((extension) => `${name}.${extension}`),
      ),
    ),
    '.config',
  ],
  [within({ write: 'bzr runs programs that it names' }, 'branch/branch.conf'), '.bzr'],
  [secretFile, 'authorized_keys', '.netrc', '_netrc', '.pgpass', '.git-credentials', '.vault-token', '.htpasswd'],
  [secrets, '.ssh', '.gnupg', '.aws', '.azure', '.kube', 'keychains', 'keyrings', '.password-store'],
  [within(secrets, 'gcloud', 'gh', 'hub', 'git', 'op'), '.config'],
  [within(secrets, 'config.json'), '.docker'],
  [within(secrets, 'credentials', 'credentials.toml'), '.cargo'],
  [secretFile, '.bash_history', '.zsh_history', '.python_history', '.node_repl_history', '.psql_history'],
]

const entries = new Map<string, Entry[]>()
const shortNames = new Map<string, string>()
for (const [entry, ...all] of names) {
  for (const name of all) {
    entries.set(name, [...(entries.get(name) ?? []), entry])
    shortNames.set(shortName(name), name)
  }
}

/** The files and folders that may not be read without an approval, at any depth, as paths from a folder. */
export const protectedReads: readonly string[] = names.flatMap(([{ read, inside }, ...all]) => {
  if (read === undefined) return []
  return inside ? all.flatMap((name) => inside.map((below) => `${name}/${below}`)) : all
})

/** Those among them that most projects have without a token: whether they hold one is looked at when a sandbox is built. */
export const projectSettings: readonly string[] = ['.npmrc', '.yarnrc.yml']

function shortName(name: string): string {
  const [, stem = '', extension = ''] = /^\.?(.*?)(\.[^.]*)?$/.exec(name) ?? []
  return stem.replaceAll('.', '').slice(0, 6) + extension.slice(0, 4)
}
