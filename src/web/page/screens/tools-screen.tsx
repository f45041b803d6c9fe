/** Comes with the next commits. */
export function ToolsScreen() {
  return <h1>Tools</h1>
}
