/** Comes with the next commits. */
export function SettingsScreen() {
  return <h1>Settings</h1>
}
