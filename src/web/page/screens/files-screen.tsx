/** Comes with the next commits. */
export function FilesScreen() {
  return <h1>Files</h1>
}
