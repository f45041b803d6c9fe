import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Mount } from '../bubblewrap/args.ts'
import { isRealPath } from '../files/confined-path.ts'

/**
 * The caches at home that a command may write. Of `.cache` only those of package managers and compilers: others are run
 * without being asked for, such as the prompt of zsh, the hooks of pre-commit and the compiled code of this program. So the
 * rest of it can be read, and what a command adds there is gone with it.
 */
export function cacheMounts(home: string): Mount[] {
  const own = cachesAtHome.map((name) => join(home, name)).filter(isRealPath)
  const folder = join(home, '.cache')
  const inCache = isRealPath(folder) ? entriesOf(folder).filter((entry) => entry.isDirectory() || entry.isFile()) : []
  return [
    ...own.map((path): Mount => ({ path, how: 'write' })),
    ...(isRealPath(folder) ? [{ path: folder, how: 'memory' } as const] : []),
    ...inCache.slice(0, mostShown).map((entry): Mount => {
      const isWritten = entry.isDirectory() && writtenInCache.has(entry.name)
      return { path: join(folder, entry.name), how: isWritten ? 'write' : 'read' }
    }),
  ]
}

/** Each is a mount of its own. */
const mostShown = 60

/** Below the home folder: what package managers fetch and compilers make. */
const cachesAtHome: readonly string[] = [
  ...['.npm', '.pnpm-store', '.local/share/pnpm/store', '.yarn/cache', '.yarn/berry/cache', '.bun/install/cache'],
  ...['.cargo/registry', '.cargo/git', 'go/pkg/mod', '.gradle/caches', '.m2/repository', '.ivy2/cache'],
  ...['.nuget/packages', '.composer/cache', '.gem/specs', '.pub-cache/hosted', '.hex/packages', '.cabal/packages'],
  '.conan2/p',
]

const writtenInCache: ReadonlySet<string> = new Set([
  ...['pip', 'pip-tools', 'uv', 'pdm', 'hatch', 'mypy', 'ruff', 'black', 'pylint', 'pytest', 'yarn', 'pnpm', 'turbo'],
  ...['node-gyp', 'typescript', 'deno', 'esbuild', 'swc', 'biome', 'eslint', 'prettier', 'go-build', 'golangci-lint'],
  ...['ccache', 'sccache', 'clangd', 'zig', 'bazel', 'bazelisk', 'meson', 'vcpkg', 'composer', 'coursier', 'dart'],
  ...['mix', 'rebar3', 'cabal', 'stack', 'dotnet', 'nuget', 'huggingface', 'torch', 'matplotlib', 'fontconfig'],
])

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    return [] // commands cannot read it either
  }
}
