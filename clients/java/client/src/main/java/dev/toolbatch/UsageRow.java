package dev.toolbatch;

/**
 * What one step used of one unit.
 *
 * @param stepId the step that used it
 * @param tool the called tool, which prices go by
 * @param unit such as {@code calls}, {@code pages}, {@code tokens}
 * @param quantity how many
 * @param costNanos what that costs, in thousand-millionths of the currency; 0 where the unit has no
 *     price
 * @param currency an ISO 4217 code; empty where the unit has no price
 */
public record UsageRow(
    String stepId, String tool, String unit, double quantity, long costNanos, String currency) {
  static UsageRow of(dev.toolbatch.v1.UsageRow row) {
    return new UsageRow(
        row.getStepId(),
        row.getTool(),
        row.getUnit(),
        row.getQuantity(),
        row.getCostNanos(),
        row.getCurrency());
  }
}
