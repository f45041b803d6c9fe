import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * What shells, desktops and other programs of the person run or obey in the home folder, as paths: what has a name with a dot
 * there, and own programs. There are too many programs for a list of names. `watched`: what must not come into being.
 */
export function homeFiles(home = homedir()): {
  readonly existing: readonly string[]
  readonly watched: readonly string[]
} {
  const cached = namesIn(join(home, '.cache')).map((name) => `.cache/${name}`)
  const existing = [...namesIn(home), ...cached].filter(isObeyed).map((name) => join(home, name))
  return { existing, watched: [...own, ...run].map((name) => join(home, name)) }
}

const own = ['bin', 'Library']
const run = ['.config', '.local', '.vim', '.emacs.d', '.pam_environment', '.xsessionrc']

/** Git protects its folder itself; the others are caches. */
const left = new Set(['.git', '.cache', '.npm', '.pnpm-store'])

/** Code that is run without being asked for: that of this program, hooks, the prompt of zsh. */
const runFromCache = /^\.cache\/(libero|pre-commit|p10k-)/

/** Whether a path from the home folder is one of these, there or not. */
export function isObeyed(path: string): boolean {
  const [top = ''] = path.split('/')
  return (top.startsWith('.') && !left.has(top)) || own.includes(top) || runFromCache.test(path)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // missing, or commands cannot read it either
  }
}
