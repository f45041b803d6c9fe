import { codeOf } from '../../core/errors.ts'
import type { ToolContext } from '../../core/tool.ts'
import { fileProblem } from '../file-problem.ts'
import type { SearchPlace } from './query.ts'

/** Where a path really leads. Contexts refuse here what lies outside of the folders that tools may use. */
export async function findPlace(path: string, ctx: ToolContext): Promise<SearchPlace> {
  try {
    return await resolve(path, ctx)
  } catch (error) {
    throw await fileProblem(error, path, ctx)
  }
}

/** A folder below a place; nothing when there is none. */
export async function findBelow(path: string, ctx: ToolContext): Promise<SearchPlace | undefined> {
  try {
    const place = await resolve(path, ctx)
    return place.kind === 'folder' ? place : undefined
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw await fileProblem(error, path, ctx)
  }
}

async function resolve(path: string, ctx: ToolContext): Promise<SearchPlace> {
  const { execution, handle } = ctx
  if (!execution.stat) return resolveByListing(path, ctx)
  const info = await execution.stat(handle, path)
  if (info.kind === 'other') throw new Error(`"${path}" is neither a file nor a folder, so it cannot be searched`)
  return { path: info.path, kind: info.kind }
}

async function resolveByListing(path: string, { execution, handle }: ToolContext): Promise<SearchPlace> {
  const absolute = absoluteOf(handle.cwd, path)
  try {
    await execution.listFiles(handle, absolute)
    return { path: absolute, kind: 'folder' }
  } catch (error) {
    await execution.readFile(handle, absolute).catch(() => {
      throw error
    })
    return { path: absolute, kind: 'file' }
  }
}

/** Paths of other worlds are POSIX paths, whatever this machine is. */
function absoluteOf(cwd: string, path: string): string {
  const parts: string[] = []
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

/** A path below another one, as it is shown and used. */
export function below(path: string, way: string): string {
  if (way === '') return path
  if (path === '.' || path === './') return way
  return path.endsWith('/') ? path + way : `${path}/${way}`
}
