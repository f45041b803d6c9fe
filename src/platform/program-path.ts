import { existsSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path'

/**
 * The folders of a `PATH` in which no project can plant a `grep`: none that is relative, and none that lies in a project. A
 * project that holds the home folder does not count: the programs there are those of the person.
 */
export function programPath(path: string, projects: readonly string[]): string[] {
  const places = projects.flatMap((folder) => [folder, realOf(folder)]).filter((folder) => !isIn(folder, homedir()))
  const isPlanted = (folder: string): boolean => places.some((place) => isIn(place, folder))
  const kept = [...new Set(path.split(delimiter))].filter(
    (folder) => isAbsolute(folder) && !isPlanted(folder) && !isPlanted(realOf(folder)),
  )
  // An empty PATH means the current folder.
  return kept.length > 0 ? kept : ['/usr/bin', '/bin']
}

/** The variables with such a `PATH`. */
export function withProgramPath<Env extends Readonly<Record<string, string | undefined>>>(
  env: Env,
  projects: readonly string[],
): Env {
  return env.PATH === undefined ? env : { ...env, PATH: programPath(env.PATH, projects).join(delimiter) }
}

/** The environment for a program of this machine that this process starts by its name. */
export function programEnv(env: Readonly<NodeJS.ProcessEnv> = process.env): NodeJS.ProcessEnv {
  const projects = [process.cwd()]
  for (let at = process.cwd(); at !== dirname(at); at = dirname(at)) if (existsSync(join(at, '.git'))) projects.push(at)
  return withProgramPath({ ...env }, projects)
}

function isIn(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way === '' || (!/^\.\.(?:[/\\]|$)/.test(way) && !isAbsolute(way))
}

function realOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path // missing, so no program is found there
  }
}
