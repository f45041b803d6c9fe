import { posix } from 'node:path'

/** A path as rules see it: relative to the workspace (`.` for itself), or absolute where it lies outside. */
export interface WorkspacePath {
  readonly target: string
  readonly isOutside?: true
}

/** Compares by segments, so that `/w/project-evil` is not inside `/w/project`. Looks at names only; links are not followed. */
export function workspacePath(root: string, path: string): WorkspacePath {
  const absolute = posix.resolve(root, path)
  const relative = posix.relative(root, absolute)
  if (relative === '') return { target: '.' }
  const isOutside = relative === '..' || relative.startsWith('../')
  return isOutside ? { target: absolute, isOutside } : { target: relative }
}
