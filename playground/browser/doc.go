// Package browser tests the playground in a browser. It is a separate module, because
// programs that contain the playground do not need a browser driver.
package browser
