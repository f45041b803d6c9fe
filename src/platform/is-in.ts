/** Whether an absolute path is the folder or lies below it, by name alone; false if one of them is undefined. */
export function isIn(path: string | undefined, folder: string | undefined): boolean {
  if (path === undefined || folder === undefined) return false
  return `${path}/`.startsWith(folder === '/' ? folder : `${folder}/`)
}
